package shard

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// TestAddAfterWhileTheDriverReads: the driver reads the deadlines of many
// shards, and an AddAfter publishes one in a shard that was read already. The
// timer would be too late if that AddAfter did not poke the driver (C19).
func TestAddAfterWhileTheDriverReads(t *testing.T) {
	n := min(rounds(t, 20_000), 4_000)
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: MaxShards, Clock: fake}})
	first, last := itemIn(s, 0), itemIn(s, MaxShards-1)
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
		if s.Core.driver.armed.Load() > s.Core.driver.earliest() {
			t.Fatalf("round %d: the driver is set for %d, a deadline is at %d", round, s.Core.driver.armed.Load(), s.Core.driver.earliest())
		}
		fake.Step(2 * time.Millisecond)
		for range 2 {
			item, _ := s.Get()
			s.Done(item)
		}
	}
}

// itemIn returns an item of a given shard.
func itemIn(s *Set[int], number uint16) int {
	for item := 0; ; item++ {
		if s.shardOf(item).number == number {
			return item
		}
	}
}
