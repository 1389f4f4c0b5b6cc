package shard

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
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
