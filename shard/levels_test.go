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

// TestPassedOverLevelLeaves: a level keeps its place if it is served for a
// moment in which nothing is taken, because the level above it is empty.
func TestPassedOverLevelLeaves(t *testing.T) {
	const every = 4
	s := newTestSet(t, Config[int]{Settings: Settings{LowPriorityInterval: every}})
	s.AddWith(-1, Delay{Priority: 1})
	for i := range 100 {
		s.AddWith(-2-i, Delay{Priority: 0})
	}
	last := 9
	for gets := 0; ; gets++ {
		if last == 9 { // so that there is always one, and none once it was taken
			s.AddWith(gets, Delay{Priority: 9})
		}
		var item int
		if item, last, _ = s.GetWithPriority(); item == -1 {
			break
		}
		if gets > 3*every {
			t.Fatal("the level in the middle has not come")
		}
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

// TestClassComesBack: a hidden class is shown again by a shard that served it
// before, and nothing else since.
func TestClassComesBack(t *testing.T) {
	const shards = 16
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: shards}})
	for range 2 {
		for number := 1; number < shards; number++ {
			item, low := itemIn(s, uint16(number)), itemIn(s, 0)
			s.Add(low)
			s.AddWith(item, Delay{Priority: number})
			checkSet(t, s)
			if got, p, _ := s.GetWithPriority(); got != item || p != number {
				t.Fatalf("Get returned item %d of priority %d", got, p)
			}
			s.Done(item)
			s.Cancel(low)
		}
		item := itemIn(s, 0)
		s.Add(item)
		s.Get() // skips the others, and hides them
		s.Done(item)
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
