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

// TestParkAndWake: one parked consumer, one item.
func TestParkAndWake(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		g := consumers(s, 1)
		checkParker(t, s, 1, false)
		s.Add(7)
		g.check(t, 1, 0)
		checkParker(t, s, 0, false)
	})
}

// TestNobodyParkedNoToken: an Add sends no token while no consumer is parked.
func TestNobodyParkedNoToken(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		s.Add(7)
		checkParker(t, s, 0, false)
		consumers(s, 1).check(t, 1, 0)
	})
}

// TestDeduplicatedAddsDoNotWake: an Add that makes nothing ready wakes no
// consumer.
func TestDeduplicatedAddsDoNotWake(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		s.Add(7)
		s.Get()
		g := consumers(s, 1)
		s.Add(7)
		s.Add(7)
		g.check(t, 0, 0)
		checkParker(t, s, 1, false)
		s.Done(7) // it was dirty
		g.check(t, 1, 0)
	})
}

// TestAnnounceThenCheck: what was published before the announcement is found by
// the check after it. Without that check the consumer would park beside a ready
// item.
func TestAnnounceThenCheck(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		s.Add(7)
		if s.park(nil) != withdrawn {
			t.Error("a consumer slept although an item was ready")
		}
		checkParker(t, s, 0, false)
		item, _ := s.Get()
		s.Done(item)
		s.closing.complete.Store(true)
		if s.park(nil) != withdrawn {
			t.Error("a consumer slept although the queue was shut down")
		}
		checkParker(t, s, 0, false)
	})
}

// TestAwaitTakesFirst: an item that came after the first try needs no parking.
func TestAwaitTakesFirst(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		s.Add(7)
		var one [1]int
		if n, shutdown, _ := s.await(nil, buffers[int]{items: one[:]}); n != 1 || one[0] != 7 || shutdown {
			t.Errorf("(%d items, %d first, %v)", n, one[0], shutdown)
		}
		checkParker(t, s, 0, false)
	})
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

// TestBurstWakesAsManyAsNeeded: a burst of Adds sends one token, and the
// searching consumers pass it on until all items are found. The others stay
// parked.
func TestBurstWakesAsManyAsNeeded(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		g := consumers(s, 100)
		for item := range 30 {
			s.Add(item)
		}
		g.check(t, 30, 0)
		checkParker(t, s, 70, false)
		s.ShutDown()
		g.check(t, 30, 70)
	})
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

// TestTokenOutWhileItemsArrive: a producer that finds the token out leaves its
// item to the searching consumer's last check.
func TestTokenOutWhileItemsArrive(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		g := consumers(s, 2)
		s.parker.searching.Store(true) // a consumer is about to search
		s.Add(1)
		s.Add(2)
		g.check(t, 0, 0)
		if _, _, _, ok := s.TryTake(); !ok {
			t.Fatal("the searcher found nothing")
		}
		s.passOn()
		g.check(t, 1, 0)
		s.ShutDown()
		g.check(t, 1, 1)
	})
}

// TestStolenItem: another consumer takes the item that the token was sent for.
// The woken one parks again.
func TestStolenItem(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		g := consumers(s, 1)
		s.Add(1)
		if _, _, _, ok := s.TryTake(); !ok { // the parked consumer may have run, or not
			g.check(t, 1, 0)
			return
		}
		g.check(t, 0, 0)
		checkParker(t, s, 1, false)
		s.ShutDown()
		g.check(t, 0, 1)
	})
}

// TestShutDownWakesAll: the token goes from consumer to consumer.
func TestShutDownWakesAll(t *testing.T) {
	const count = 10_000
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		g := consumers(s, count)
		checkParker(t, s, count, false)
		s.ShutDown()
		g.check(t, 0, count)
		checkParker(t, s, 0, false)
	})
}

// TestShutDownWhileSearching: the token is out when the queue is shut down. The
// consumer that holds it wakes the others.
func TestShutDownWhileSearching(t *testing.T) {
	parkingSets(t, func(t *testing.T, s *Set[int]) {
		g := consumers(s, 50)
		s.parker.searching.Store(true)
		s.ShutDown()
		g.check(t, 0, 0)
		s.passOn()
		g.check(t, 0, 50)
	})
}

// TestDelayWakesParkedConsumers: parked consumers find all items whose delay
// expires.
func TestDelayWakesParkedConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCheckedSet(t, Config[int]{Shards: 4})
		g := consumers(c.set, 1000)
		for item := range 900 {
			c.set.AddAfter(item, 5)
		}
		g.check(t, 0, 0)
		c.clock.Step(c.tick)
		g.check(t, 900, 0)
		c.set.ShutDown()
		g.check(t, 900, 100)
	})
}
