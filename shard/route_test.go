package shard

import (
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// TestRouteDecides: items of one route share a shard, whatever their hash.
func TestRouteDecides(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 64}, Route: func(item int) uint64 { return uint64(item % 3) }})
	for item := range 300 {
		if s.shardOf(item) != s.shardOf(item%3) {
			t.Errorf("items %d and %d are not in one shard", item, item%3)
		}
	}
}

// TestRouteIsStable: two queues route alike, though their seeds differ.
func TestRouteIsStable(t *testing.T) {
	route := xxhash.Sum64String
	a := newTestSet(t, Config[string]{Settings: Settings{Shards: 4096}, Route: route})
	b := newTestSet(t, Config[string]{Settings: Settings{Shards: 4096}, Route: route})
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
	s = newTestSet(t, Config[int]{Settings: Settings{
		Shards: 4,
	},
		Route: func(item int) uint64 {
			calls++
			for i := range s.Core.shards.all {
				if !s.Core.shard(i).tryLock() {
					t.Errorf("call %d holds the lock of shard %d", calls, i)
					continue
				}
				s.Core.shard(i).unlock()
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
