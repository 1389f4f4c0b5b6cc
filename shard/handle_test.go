package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
