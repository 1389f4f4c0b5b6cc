package shard

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// addAll makes items ready, each with a priority of its own.
func addAll(s *Set[int], priorities map[int]int) {
	for item, priority := range priorities {
		s.AddWith(item, Delay{Priority: priority})
	}
}

// TestWhoCountsForTheLowPriorities: a line does, unless consumers count for all shards.
func TestWhoCountsForTheLowPriorities(t *testing.T) {
	for _, c := range []struct {
		shards  int
		grouped bool
		want    uint32
	}{{1, false, 5}, {2, false, 0}, {1, true, 5}, {2, true, 5}} {
		s := Settings{Shards: c.shards, LowPriorityInterval: 5, Tick: 1, grouped: c.grouped}
		if lines := s.lines(); lines.LowPriorityInterval != c.want {
			t.Errorf("%+v: every %d", c, lines.LowPriorityInterval)
		}
	}
}

// TestRaiseKeepsTheBit: the only ready item rises, and the shard's ready bit
// stays set.
func TestRaiseKeepsTheBit(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2}, Route: parity})
	addAll(s, map[int]int{2: 1})
	n := rounds(t, 200_000)
	var over atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		defer over.Store(true)
		for i := 2; i < n; i++ {
			s.AddWith(2, Delay{Priority: i})
		}
	})
	for !over.Load() {
		if !s.Core.anyReady() {
			t.Fatal("for a moment, nothing was ready")
		}
	}
	other.Wait()
	checkSet(t, s)
}

// TestC45MemoryOfPriorities: a shard that is often empty keeps no room for the
// priorities of many items, ready or delayed.
func TestC45MemoryOfPriorities(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Hour} {
		s := newTestSet(t, Config[int]{})
		for i := range 100 {
			s.AddWith(i, Delay{Priority: 1, Duration: delay})
		}
		for i := range 200 {
			s.Cancel(i % 100)
			s.Add(-1)
			s.Cancel(-1)
		}
		if s.Core.shard(0).table.Requested != nil {
			t.Errorf("after a delay of %v, it keeps the room", delay)
		}
	}
}
