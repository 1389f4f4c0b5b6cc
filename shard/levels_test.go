package shard

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRaiseKeepsTheBit: the only ready item rises, and the shard's ready bit
// stays set.
func TestRaiseKeepsTheBit(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2}, Route: parity})
	s.AddWith(2, Delay{Priority: 1})
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
