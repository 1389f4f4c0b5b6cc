package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDropIsBounded(t *testing.T) {
	const delayed = 10 * stepsPerHold
	s := newTestSet(t, Config[int]{})
	for item := range delayed {
		s.AddAfter(item, time.Duration(1+item%70)*time.Millisecond)
	}
	for all, before := false, delayed; !all; {
		all = s.Core.shard(0).dropDelayed(nil)
		left := s.Core.Stats().Delayed
		require.True(t, before-left <= stepsPerHold && all == (left == 0), "%d were delayed, and %d are", before, left)
		before = left
	}
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
