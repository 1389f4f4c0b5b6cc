package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEndedHandleNamesNothing: once a processing has ended, its Handle changes
// nothing while the item is idle, ready or in another processing, or after its
// entry has gone to another item. Fences rise.
func TestEndedHandleNamesNothing(t *testing.T) {
	for name, config := range map[string]Config[int]{
		"plain": {Settings: Settings{Shards: 1}}, "shards": {Settings: Settings{Shards: 8}}, "ages": {Settings: Settings{Shards: 1, Ages: true}}, "metrics": {Settings: Settings{Shards: 2, Ages: true, Metrics: true}},
		"groups": {Settings: Settings{Shards: 2, GroupPolicy: limited(1)}, Group: func(int) string { return "g" }},
	} {
		for _, upper := range []uint64{0, 1<<31 - 2, 1 << 40} {
			t.Run(fmt.Sprint(name, upper), func(t *testing.T) {
				s := newTestSet(t, config)
				for i := range s.Core.shards.all {
					s.Core.shard(i).count.added = upper
				}
				take := func() Handle {
					_, _, h, ok := s.TryTake()
					require.True(t, ok)
					require.True(t, s.Core.Valid(h))
					require.Equal(t, h, HandleAt(h.Place(), h.Fence()))
					return h
				}
				requireEnded := func(h Handle) {
					t.Helper()
					before := s.Core.Stats()
					require.False(t, s.Core.Valid(h))
					_, ok := s.Core.Seal(h)
					require.False(t, ok)
					require.False(t, s.Core.End(h))
					require.False(t, s.Core.Again(h, 0))
					require.False(t, s.Core.Release(h, 3))
					require.Equal(t, TooLate, s.Core.Retry(h, Delay{}))
					require.Equal(t, TooLate, s.Core.Retry(h, Delay{Duration: time.Second}))
					require.False(t, s.Core.Postpone(h, s.DeadlineIn(time.Second), KeepLatest))
					require.Equal(t, []int{0, 1}, s.Core.EndBatch([]Handle{h, h}))
					after := s.Core.Stats()
					before.Metrics, after.Metrics = nil, nil
					require.Equal(t, before, after)
					checkSet(t, s)
				}
				requireEnded(Handle{})
				requireEnded(Handle{fence: 7, id: 1 << 28})
				s.Add(1)
				first := take()
				require.True(t, s.Core.End(first))
				requireEnded(first)
				s.Add(2) // has the cell of the entry
				other := take()
				requireEnded(first)
				require.True(t, s.Core.End(other))
				s.Add(1)
				requireEnded(first)
				second := take()
				requireEnded(first)
				require.Greater(t, second.Fence(), first.Fence())
				require.True(t, s.Core.Release(second, 0))
				requireEnded(second)
				third := take()
				require.Greater(t, third.Fence(), second.Fence())
				requireEnded(second)
				s.Add(1)
				require.True(t, s.Core.End(third))
				fourth := take() // it was dirty
				requireEnded(third)
				only, ok := s.Core.Seal(fourth)
				require.True(t, ok)
				requireEnded(fourth)
				require.True(t, s.Core.Valid(only))
				require.Equal(t, fourth.Fence(), only.Fence())
				require.True(t, s.Core.End(only))
				requireEnded(only)
				require.Zero(t, s.Core.Stats().Held)
			})
		}
	}
}

// TestC60UpperHalfOfTheFence: the fences of two processings that are 2³¹ adds
// to the shard apart have the same lower half. The earlier Handle does not name
// the later processing.
func TestC60UpperHalfOfTheFence(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 1}})
	var ended []Handle
	for range 3 {
		s.Add(1)
		_, _, h, ok := s.TryTake()
		require.True(t, ok)
		for _, earlier := range ended {
			require.Equal(t, uint32(h.fence), uint32(earlier.fence), "the test tests nothing")
			require.False(t, s.Core.Valid(earlier))
			require.False(t, s.Core.End(earlier))
			require.Greater(t, h.Fence(), earlier.Fence())
		}
		require.True(t, s.Core.End(h))
		ended = append(ended, h)
		s.Core.shard(0).count.added += 1<<31 - 1 // and the next Add is one more
	}
}
