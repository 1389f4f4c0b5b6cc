package shard

import (
	"fmt"
	"math"
	"reflect"
	"testing"
)

// checkSpread routes items to the shards of a set, and fails if a shard has an
// eighth more or less than its share, which is more than six standard
// deviations.
func checkSpread[T comparable](t *testing.T, config Config[T], item func(i int) T) {
	t.Helper()
	const perShard = 4000
	s := newTestSet(t, config)
	counts := make([]int, config.Shards)
	for i := range perShard * config.Shards {
		counts[s.shardOf(item(i)).number]++
	}
	for number, n := range counts {
		if n < perShard*7/8 || n > perShard*9/8 {
			t.Errorf("shard %d of %d has %d items, its share is %d", number, config.Shards, n, perShard)
		}
	}
}

// TestSeededSpread: the queue's own hash spreads very regular items.
func TestSeededSpread(t *testing.T) {
	for _, shards := range []int{2, 3, 16, 100} {
		checkSpread(t, Config[uint64]{Shards: shards}, func(i int) uint64 { return uint64(i) << 32 })
		checkSpread(t, Config[string]{Shards: shards}, func(i int) string { return fmt.Sprint("key", i) })
	}
}

// TestRouteSpreadsSmallNumbers: a route may return small numbers, such as
// partitions.
func TestRouteSpreadsSmallNumbers(t *testing.T) {
	for _, shards := range []int{2, 16, 100} {
		checkSpread(t, Config[int]{Shards: shards, Route: func(item int) uint64 { return uint64(item) }},
			func(i int) int { return i })
	}
}

// TestRouteDecides: items of one route share a shard, whatever their hash.
func TestRouteDecides(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 64, Route: func(item int) uint64 { return uint64(item % 3) }})
	for item := range 300 {
		if s.shardOf(item) != s.shardOf(item%3) {
			t.Errorf("items %d and %d are not in one shard", item, item%3)
		}
	}
}

// TestRouteIsStable: two queues route alike, though their seeds differ.
func TestRouteIsStable(t *testing.T) {
	route := stable[string](t)
	a := newTestSet(t, Config[string]{Shards: 4096, Route: route})
	b := newTestSet(t, Config[string]{Shards: 4096, Route: route})
	for i := range 1000 {
		item := fmt.Sprint(i)
		if a.shardOf(item).number != b.shardOf(item).number {
			t.Fatalf("item %s is in two shards", item)
		}
	}
	if a.hash("x") == b.hash("x") {
		t.Error("two queues have the same seed")
	}
}

// TestRouteHoldsNoLock: a route function is user code. It panics through every
// call that takes an item, and the queue goes on.
func TestRouteHoldsNoLock(t *testing.T) {
	calls, panics := 0, false
	var s *Set[int]
	s = newTestSet(t, Config[int]{Shards: 4, Route: func(item int) uint64 {
		calls++
		for i := range s.shards {
			if !s.shard(i).mu.TryLock() {
				t.Errorf("call %d holds the lock of shard %d", calls, i)
				continue
			}
			s.shard(i).mu.Unlock()
		}
		if panics {
			panic("route")
		}
		return uint64(item)
	}})
	use := func() { s.Add(1); s.Get(); s.AddAfter(2, 5); s.Done(1) }
	use()
	if calls != 3 {
		t.Errorf("the route was called %d times for three items", calls)
	}
	panics = true
	for name, call := range map[string]func(){
		"Add": func() { s.Add(3) }, "AddAfter": func() { s.AddAfter(3, 5) }, "Done": func() { s.Done(3) },
	} {
		if got := panicOf(call); got != "route" {
			t.Errorf("%s: %v", name, got)
		}
	}
	panics = false
	use()
	checkSet(t, s)
}

// panicOf returns what a call panics with, or nil.
func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

// TestMayDiffer: the types that have values that are not equal to themselves.
func TestMayDiffer(t *testing.T) {
	for _, value := range []any{
		float32(0), 0.0, complex64(0), complex128(0), [2]float64{}, struct {
			Name string
			X    [1]float32
		}{}, struct{ Error error }{}, struct{ Any any }{}, [3]any{},
	} {
		if !typeMayDiffer(reflect.TypeOf(value)) {
			t.Errorf("%T", value)
		}
	}
	for _, value := range []any{
		0, "", true, uintptr(0), new(float64), make(chan float64), [2]int{}, objectKey{}, nested{}, nothing{},
		struct{ P *float64 }{},
	} {
		if typeMayDiffer(reflect.TypeOf(value)) {
			t.Errorf("%T", value)
		}
	}
	if !mayDiffer[any]() || mayDiffer[string]() {
		t.Error("any or string")
	}
}

// TestReject: Reject tests values.
func TestReject(t *testing.T) {
	nan := math.NaN()
	s := newTestSet[any](t, Config[any]{})
	for _, item := range []any{nan, float32(nan), complex(nan, 0), [1]float64{nan}, struct{ X any }{nan}} {
		if !s.Reject(item) {
			t.Errorf("%v is taken in", item)
		}
	}
	for _, item := range []any{nil, 0, math.Inf(1), &nan, struct{ _ float64 }{}, "NaN"} {
		if s.Reject(item) {
			t.Errorf("%v is rejected", item)
		}
	}
}
