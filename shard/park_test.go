package shard

import (
	"testing"
	"testing/synctest"
)

// checkParker compares the parker of a set that no goroutine is using.
func checkParker(t *testing.T, s *Set[int], parked int32, searching bool) {
	t.Helper()
	synctest.Wait()
	if s.Core.parker.parked.Load() != parked || s.Core.parker.searching.Load() != searching || (len(s.Core.parker.token) == 1) != searching {
		t.Fatalf("%d parked, searching %v, %d tokens, want %d and %v",
			s.Core.parker.parked.Load(), s.Core.parker.searching.Load(), len(s.Core.parker.token), parked, searching)
	}
}

// parkingSets runs a test with one shard, which has no ready bit, and with
// several.
func parkingSets(t *testing.T, test func(t *testing.T, s *Set[int])) {
	for _, shards := range []int{1, 4, 100} {
		synctest.Test(t, func(t *testing.T) {
			test(t, newTestSet(t, Config[int]{Shards: shards}))
		})
	}
}

// TestPassOn: the searching consumer passes the token on if there is something
// left for another parked consumer, and only then.
func TestPassOn(t *testing.T) {
	for _, test := range []struct {
		name             string
		parked           int32
		ready, shut, out bool
	}{
		{"an item and a parked consumer", 1, true, false, true},
		{"an item and no parked consumer", 0, true, false, false},
		{"no item and a parked consumer", 1, false, false, false},
		{"a shutdown and a parked consumer", 1, false, true, true},
		{"a shutdown and no parked consumer", 0, false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			parkingSets(t, func(t *testing.T, s *Set[int]) {
				if test.ready {
					s.Add(7)
				}
				s.Core.closing.complete.Store(test.shut)
				s.Core.parker.parked.Store(test.parked)
				s.Core.parker.searching.Store(true)
				s.Core.passOn()
				checkParker(t, s, test.parked, test.out)
			})
		})
	}
}
