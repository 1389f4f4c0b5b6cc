package stableroute

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Item types with stable values.
type (
	name   string
	nested struct {
		Owner objectKey
		Ports [3]uint16
		On    bool
	}

	widths struct {
		A int8
		B int16
		C int32
		D int64
		E int
	}
	nothing struct{}
)

type objectKey struct{ Namespace, Name string }

func stable[T comparable](t *testing.T) func(item T) uint64 {
	route, err := Of[T]()
	require.NoError(t, err)
	return route
}

// TestStableRouteGolden: the hash of an item is the same in all releases. The
// numbers of "" and "a" are those of XXH64 with seed 0 as its authors publish
// them. A change here moves every user's items to other shards.
func TestStableRouteGolden(t *testing.T) {
	pod := objectKey{"default", "nginx"}
	tree := nested{Owner: pod, Ports: [3]uint16{80, 443, 65535}, On: true}
	for name, hash := range map[string]struct{ got, want uint64 }{
		"empty string": {stable[string](t)(""), 0xef46db3751d8e999},
		"string":       {stable[string](t)("a"), 0xd24ec4f1a98c6e5b},
		"named string": {stable[name](t)("default/nginx"), 0xcc8086d9b34cd1fc},
		"int":          {stable[int](t)(-1), 0x85d136adb773c6c9},
		"uint":         {stable[uint](t)(math.MaxUint32), 0xfcf55a534242931b},
		"uint64":       {stable[uint64](t)(1 << 40), 0xa13ea4c7924fd453},
		"bool":         {stable[bool](t)(true), 0x9f29cb17a2a49995},
		"two strings":  {stable[objectKey](t)(pod), 0x7a62888a661500d2},
		"nested":       {stable[nested](t)(tree), 0x37770a66f82f98b8},
		"array":        {stable[[2]string](t)([2]string{"x", ""}), 0xcffdb152e9c71971},
		"widths":       {stable[widths](t)(widths{-1, -1, -1, -1, -1}), 0xdea1a73445f5c1bb},
		"nothing":      {stable[nothing](t)(nothing{}), 0xef46db3751d8e999},
	} {
		require.Equal(t, hash.want, hash.got, name)
	}
}

// TestStableRouteFaults: one error names all parts that have no stable value.
func TestStableRouteFaults(t *testing.T) {
	checkFaults[float64](t, "float64 is of type float64")
	checkFaults[any](t, "interface {} is of type interface {}")
	checkFaults[*int](t, "*int is of type *int")
	checkFaults[chan int](t, "chan int is of type chan int")
	checkFaults[[2]complex64](t, "[2]complex64[0] is of type complex64")
	type inner struct {
		Weight float32
		Name   string
		Next   *int
	}
	type faulty struct {
		Name  string
		Inner [2]inner
		Error error
		_     float64 // == does not look at it
		Last  complex128
	}
	checkFaults[faulty](t,
		"stableroute.faulty.Inner[0].Weight is of type float32",
		"stableroute.faulty.Inner[0].Next is of type *int",
		"stableroute.faulty.Error is of type error",
		"stableroute.faulty.Last is of type complex128")
}

func checkFaults[T comparable](t *testing.T, faults ...string) {
	route, err := Of[T]()
	require.Nil(t, route)
	for _, fault := range faults {
		require.ErrorContains(t, err, fault)
	}
	require.Equal(t, len(faults)-1, strings.Count(err.Error(), "\n"), "%v", err)
}
