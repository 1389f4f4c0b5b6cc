package shard

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
)

// TestNothingIsAddedOnceShutDownReturned: an add waits for its shard's lock
// while a shutdown overtakes it. What the add knew of the shutdown before is
// out of date, and it must drop its item (C2, C10).
func TestNothingIsAddedOnceShutDownReturned(t *testing.T) {
	processors := runtime.GOMAXPROCS(1) // so that a goroutine that releases a lock can take it again
	defer runtime.GOMAXPROCS(processors)
	for name, add := range map[string]func(s *Set[int]){
		"Add":      func(s *Set[int]) { s.Add(1) },
		"AddAfter": func(s *Set[int]) { s.AddAfter(1, time.Hour) },
	} {
		for range 20 { // the scheduler may disturb some
			s := newTestSet(t, Config[int]{})
			var all sync.WaitGroup
			s.shard(0).mu.Lock()
			all.Go(func() { add(s) })
			for range 10 {
				runtime.Gosched() // it runs up to the lock
			}
			s.shard(0).mu.Unlock()
			s.ShutDown()
			then := s.Stats()
			all.Wait()
			if now := s.Stats(); now.Added != then.Added || now.Delayed > 0 {
				t.Fatalf("%s: when ShutDown returned: %+v; later: %+v", name, then, now)
			}
		}
	}
}

// TestAddAfterThatWaitsForItsLock: an AddAfter waits for its shard's lock while
// the driver serves its last deadline and stops. What the AddAfter knew of the
// timer before is out of date, and it must poke the driver (C19).
func TestAddAfterThatWaitsForItsLock(t *testing.T) {
	processors := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(processors)
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Shards: 2, Clock: fake})
	item, other := itemOf(s, 0), itemOf(s, 1)
	s.AddAfter(other, time.Second)
	var all sync.WaitGroup
	s.shard(0).mu.Lock()
	all.Go(func() { s.AddAfter(item, time.Hour) })
	for range 10 {
		runtime.Gosched() // it runs up to the lock
	}
	fake.Step(time.Second)
	s.shard(0).mu.Unlock()
	all.Wait()
	checkSet(t, s)
	if fake.Timers() != 1 {
		t.Errorf("an item is delayed, and %d timers are set", fake.Timers())
	}
}

// TestAddAfterWhileTheDriverReads: the driver reads the deadlines of many
// shards, and an AddAfter publishes one in a shard that was read already. The
// timer would be too late if that AddAfter did not poke the driver (C19).
func TestAddAfterWhileTheDriverReads(t *testing.T) {
	n := min(rounds(t, 20_000), 4_000)
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Shards: MaxShards, Clock: fake})
	first, last := itemOf(s, 0), itemOf(s, MaxShards-1)
	var begun, added atomic.Int64
	var over atomic.Bool
	var other sync.WaitGroup
	defer other.Wait()
	defer over.Store(true)
	other.Go(func() {
		for round := 1; round <= n && !over.Load(); round++ {
			for begun.Load() < int64(round) && !over.Load() {
				runtime.Gosched()
			}
			pause(round, 30_000)
			s.AddAfter(first, 2*time.Millisecond)
			added.Store(int64(round))
		}
	})
	for round := 1; round <= n; round++ {
		s.AddAfter(last, time.Millisecond)
		begun.Store(int64(round))
		fake.Step(time.Millisecond)
		eventually(t, "AddAfter does not return", func() bool { return added.Load() == int64(round) })
		if s.driver.armed.Load() > s.earliest() {
			t.Fatalf("round %d: the driver is set for %d, a deadline is at %d", round, s.driver.armed.Load(), s.earliest())
		}
		fake.Step(2 * time.Millisecond)
		for range 2 {
			item, _ := s.Get()
			s.Done(item)
		}
	}
}

// itemOf returns an item of a given shard.
func itemOf(s *Set[int], number uint16) int {
	for item := 0; ; item++ {
		if s.shardOf(item).number == number {
			return item
		}
	}
}

// TestCancellationMeetsTheToken: a token lies in the channel when a consumer
// whose context has ended parks. The consumer takes the token and searches, or
// leaves it for the next (C4).
func TestCancellationMeetsTheToken(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	seen := map[parking]bool{}
	for len(seen) < 2 { // select chooses
		s := newTestSet(t, Config[int]{})
		s.sendToken()
		how := s.park(ended)
		seen[how] = true
		if left := len(s.parker.token); (left == 1) != (how == canceledParked) || !s.parker.searching.Load() {
			t.Fatalf("parking ended as %d with %d tokens left", how, left)
		}
	}
}

// TestOvertakenAddAfterWakes: the wheel reaches the tick of a deadline while
// its AddAfter is on the way to the lock. The item is added and counted as an
// expired delay, and a parked consumer is woken for it.
func TestOvertakenAddAfterWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMeddlingClock()
		s := newTestSet(t, Config[int]{Clock: c})
		g := consumers(s, 2)
		s.AddAfter(1, time.Second)
		c.at(afterNow, 1, func() {
			c.Step(time.Second)
			g.check(t, 1, 0)
		})
		s.AddAfter(2, time.Second)
		g.check(t, 2, 0)
		if st := s.Stats(); st.Expired != 2 || st.Added != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// TestDrainBesideManyDelays: a shard whose delayed items are dropped in several
// holds of its lock owes the drain one report.
func TestDrainBesideManyDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{})
		for item := range 3*stepsPerHold + 1 {
			s.AddAfter(item, time.Duration(1+item)*time.Hour)
		}
		s.Add(-1)
		drained := false
		go func() { s.ShutDownWithDrain(); drained = true }()
		synctest.Wait()
		item, _ := s.Get()
		if drained {
			t.Error("the drain ended early")
		}
		s.Done(item)
		synctest.Wait()
		if !drained {
			t.Error("the drain does not end")
		}
		s.ShutDown()
	})
}
