package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/shard/internal/items"
)

// TestDropIsBounded checks one turn after the other.
func TestDropIsBounded(t *testing.T) {
	const delayed = 10 * stepsPerHold
	s := newTestSet(t, Config[int]{})
	for item := range delayed {
		s.AddAfter(item, time.Duration(1+item%70)*time.Millisecond)
	}
	for all, before := false, delayed; !all; {
		all = s.Core.shard(0).dropDelayed(nil)
		left := s.Core.Stats().Delayed
		if before-left > stepsPerHold || all != (left == 0) {
			t.Fatalf("a turn dropped %d items, left %d, and says that it was the last: %v", before-left, left, all)
		}
		before = left
	}
}

// TestAddInFlightAtShutDown: an Add has seen that the queue is open, and holds
// its shard's lock while the queue is shut down. A consumer that comes
// meanwhile must not leave without the item (C2, C10).
func TestAddInFlightAtShutDown(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2}})
	sh := s.Core.shard(1)
	sh.lock()
	down := make(chan struct{})
	go func() { s.Core.ShutDown(); close(down) }()
	eventually(t, "ShutDown does not begin", s.Core.ShuttingDown)
	left := make(chan bool, 1)
	go func() { _, shutdown := s.Get(); left <- shutdown }()
	eventually(t, "the consumer does not park", func() bool { return s.Core.parker.Parked() > 0 || len(left) > 0 })
	item := 7
	if id, e := sh.entryFor(items.KeyOf(&item), &address{hash: uint32(s.hash(item))}); sh.add(id, e, request{})&wakes == 0 {
		t.Error("the item is not ready")
	}
	sh.unlock()
	s.Core.wake()
	if shutdown := <-left; shutdown {
		t.Error("the consumer left the item behind")
	}
	<-down
}

// TestRetryFinishesASweep: a delay that is filed beside a drain that makes delayed
// items ready comes after all of these.
func TestRetryFinishesASweep(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	s.Add(-1)
	_, _, h, _ := s.TryTake()
	for i := range 3 * stepsPerHold {
		s.AddWith(i, Delay{Duration: time.Hour})
	}
	require.True(t, s.Core.shard(0).beginSweep(RunDelayed, nil))
	require.Equal(t, TakenBack, s.Core.Retry(h, Delay{Duration: time.Hour}))
	st := s.Core.Stats()
	require.Equal(t, []int{3 * stepsPerHold, 1}, []int{st.Ready, st.Delayed})
}
