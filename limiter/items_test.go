package limiter

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// perItemLimiters returns one limiter of each kind that keeps histories.
func perItemLimiters[T comparable](options ...Options) map[string]Limiter[T] {
	return map[string]Limiter[T]{
		"exponential": NewExponential[T](ms, sec, options...),
		"fast, slow":  NewFastSlow[T](ms, sec, 3, options...),
		"backoff":     NewItemBackoff[T](Backoff{Duration: ms, Factor: 2, Steps: 20, Cap: sec}, options...),
	}
}

type withNaN struct {
	name string
	x    float64
}

func TestC16H4ItemsNotEqualToThemselvesAreNotKept(t *testing.T) {
	nan := math.NaN()
	requireNotKept(t, nan)
	requireNotKept(t, float32(nan))
	requireNotKept(t, complex(0, nan))
	requireNotKept(t, withNaN{"x", nan})
	requireNotKept(t, [2]float64{0, nan})
	requireNotKept(t, any(nan))
	requireNotKept(t, any(withNaN{"x", nan}))
}

func requireNotKept[T comparable](t *testing.T, item T) {
	t.Helper()
	o, _ := expiring(sec)
	for _, options := range [][]Options{nil, {o}} {
		for name, l := range perItemLimiters[T](options...) {
			for range 100 {
				require.Equal(t, ms, l.When(item), "%s, %#v: each failure is the first", name, item)
				require.Zero(t, l.NumRequeues(item))
				l.Forget(item)
			}
			require.Nil(t, l.(*perItem[T]).stripes.Load(), "%s has allocated stripes", name)
		}
	}
}

func TestC16H5UnhashableItemsPanicAndChangeNothing(t *testing.T) {
	unhashable := []any{[]int{1}, map[int]int{}, func() {}, struct{ x any }{[]int{}}, [1]any{map[int]int{}}}
	for name, l := range perItemLimiters[any]() {
		l.When("kept")
		for _, item := range unhashable {
			require.Panics(t, func() { l.When(item) }, "%s: %T", name, item)
			require.Panics(t, func() { l.Forget(item) }, "%s: %T", name, item)
			require.Panics(t, func() { l.NumRequeues(item) }, "%s: %T", name, item)
		}
		require.Equal(t, 1, l.NumRequeues("kept"))
		require.Equal(t, 1, entries(t, l))
	}
}

func TestC9H6EqualItemsShareAHistory(t *testing.T) {
	zero := 0.0
	floats := NewExponential[float64](ms, sec)
	requireDelays(t, floats, zero, 1*ms)
	requireDelays(t, floats, -zero, 2*ms)
	requireDelays(t, floats, math.Copysign(0, -1), 4*ms)

	anything := NewExponential[any](ms, sec)
	requireDelays(t, anything, any(1), ms)
	requireDelays(t, anything, any(int64(1)), ms)
	requireDelays(t, anything, any(math.Copysign(0, -1)), 1*ms)
	requireDelays(t, anything, any(0.0), 2*ms)
	require.Equal(t, 3, entries(t, anything))
}

func TestC9H7ZeroValuesAreOrdinaryItems(t *testing.T) {
	requireOrdinary(t, "")
	requireOrdinary(t, 0)
	requireOrdinary(t, struct{}{})
	requireOrdinary(t, any(nil))
	requireOrdinary(t, (*int)(nil))
	requireOrdinary(t, [0]int{})
	requireOrdinary(t, false)
	requireOrdinary(t, error(nil))
}

func TestC9H8LongItems(t *testing.T) {
	requireOrdinary(t, strings.Repeat("x", 1<<20))
}

func requireOrdinary[T comparable](t *testing.T, item T) {
	t.Helper()
	for name, l := range perItemLimiters[T]() {
		l.When(item)
		l.When(item)
		require.Equal(t, 2, l.NumRequeues(item), name)
		require.Equal(t, 1, entries(t, l), name)
		l.Forget(item)
		require.Equal(t, 0, l.NumRequeues(item), name)
		require.Equal(t, 0, entries(t, l), name)
	}
}
