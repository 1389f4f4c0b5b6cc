package items

import (
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestKeysMoveWithTheirStack: the garbage collector may shrink a stack at any
// call. Only with -race, there could be one where the key is hidden.
func TestKeysMoveWithTheirStack(t *testing.T) {
	const rounds = 150
	var stale, collections atomic.Int32
	check := func(key Key) {
		var here int
		if uintptr(key)-uintptr(unsafe.Pointer(&here)) > 1<<12 {
			stale.Add(1)
		}
	}
	of := TypeOf[uint32]()
	of.equal = func(e *Entry, key Key) bool { check(key); return *Of[uint32](e) == *(*uint32)(key) }
	of.set = func(e *Entry, key Key) { check(key); *Of[uint32](e) = *(*uint32)(key) }
	over := make(chan struct{})
	go func() {
		defer close(over)
		for collections.Load() < rounds {
			runtime.GC()
			collections.Add(1)
		}
	}()
	table := NewTable(of)
	for round := collections.Load(); round < rounds; round = collections.Load() {
		deepen(64)
		for collections.Load() == round {
			item := uint32(round)
			_, p := table.Find(item, KeyOf(&item))
			id, e := table.Insert(p, KeyOf(&item))
			_, p = table.Find(item, KeyOf(&item))
			table.Remove(id, e, p)
		}
	}
	<-over
	require.Zero(t, stale.Load())
}

func TestStringsWithinAnItem(t *testing.T) {
	type inner struct {
		_ int8
		a string
	}
	type outer struct {
		_ int
		b inner
		c string
	}
	b := unsafe.Offsetof(outer{}.b)
	require.Equal(t, []uintptr{b + unsafe.Offsetof(inner{}.a), unsafe.Offsetof(outer{}.c)}, TypeOf[outer]().Strings)
}

func TestAddressesWithinAnItem(t *testing.T) {
	type appointment struct {
		_ string
		_ [2]struct{ time.Time }
		_ *int
	}
	type phantom struct {
		_ [0]*int
		_ netip.Prefix // it has an address that equal contents share
		_ any
	}
	for want, items := range map[string]any{
		"time.Time": &appointment{}, "*int": new(*int), "chan int": new(chan int), "unsafe.Pointer": new([1]unsafe.Pointer), "": &phantom{},
	} {
		require.Equal(t, want, newType(items, Type{}).Address)
	}
}

//go:noinline
func deepen(n int) (sum byte) {
	var frame [512]byte
	if n > 0 {
		frame[n] = deepen(n - 1)
	}
	return frame[n/2]
}
