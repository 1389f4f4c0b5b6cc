package shard

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// consumers starts n goroutines that call Get once each, in the bubble of the
// test, and waits until they are parked or have returned.
func consumers(s *Set[int], n int) *gotten {
	g := &gotten{}
	for range n {
		go func() {
			if _, shutdown := s.Get(); shutdown {
				g.shutdowns.Add(1)
			} else {
				g.items.Add(1)
			}
		}()
	}
	synctest.Wait()
	return g
}

// gotten counts the results of consumers.
type gotten struct{ items, shutdowns atomic.Int32 }

func (g *gotten) check(t *testing.T, items, shutdowns int32) {
	t.Helper()
	synctest.Wait()
	if g.items.Load() != items || g.shutdowns.Load() != shutdowns {
		t.Fatalf("%d items and %d shutdowns were gotten, want %d and %d",
			g.items.Load(), g.shutdowns.Load(), items, shutdowns)
	}
}

// checkParker compares the parker of a set that no goroutine is using.
func checkParker(t *testing.T, s *Set[int], parked int32, searching bool) {
	t.Helper()
	synctest.Wait()
	if s.parker.parked.Load() != parked || s.parker.searching.Load() != searching || (len(s.parker.token) == 1) != searching {
		t.Fatalf("%d parked, searching %v, %d tokens, want %d and %v",
			s.parker.parked.Load(), s.parker.searching.Load(), len(s.parker.token), parked, searching)
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

// TestThrottle: however many items are published, there is one token.
func TestThrottle(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		s.parker.parked.Store(5) // consumers that do not wake
		for item := range 1000 {
			s.Add(item)
		}
		checkParker(t, s, 5, true)
	})
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
				s.closing.complete.Store(test.shut)
				s.parker.parked.Store(test.parked)
				s.parker.searching.Store(true)
				s.passOn()
				checkParker(t, s, test.parked, test.out)
			})
		})
	}
}

// TestStaleToken: a token that was sent for a consumer that then found an item
// without it stays in the channel. The next consumer to park wakes for nothing
// once, and parks again. No later item is lost.
func TestStaleToken(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		s.sendToken()
		checkParker(t, s, 0, true)
		s.Add(1) // no consumer is parked
		consumers(s, 1).check(t, 1, 0)
		checkParker(t, s, 0, true)
		g := consumers(s, 3)
		g.check(t, 0, 0)
		checkParker(t, s, 3, false)
		s.Add(2)
		g.check(t, 1, 0)
		s.ShutDown()
		g.check(t, 1, 2)
		checkParker(t, s, 0, false)
	})
}
