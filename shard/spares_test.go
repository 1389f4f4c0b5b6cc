package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBurstsAllocateOnce: a queue that fills and empties again and again reuses
// the memory of the burst before.
func TestBurstsAllocateOnce(t *testing.T) {
	if underRace {
		t.Skip("sync.Pool forgets at random under the race detector")
	}
	for _, items := range []int{3_000, 40_000} {
		t.Run(fmt.Sprintf("items=%d", items), func(t *testing.T) {
			s := newTestSet(t, Config[int]{Shards: 4})
			burst := func() {
				for item := range items {
					s.Add(item)
				}
				for range items {
					item, _ := s.Get()
					s.Done(item)
				}
			}
			burst()
			before := allocated(burst)
			require.Less(t, before, uint64(items), "bytes for a burst of %d items", items)
		})
	}
}

// TestPeakIsForgotten: a shard that had a large index once does not make large
// ones forever.
func TestPeakIsForgotten(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 1})
	burst := func(items int) {
		for item := range items {
			s.Add(item)
		}
		for range items {
			item, _ := s.Get()
			s.Done(item)
		}
	}
	burst(20_000)
	high := s.shard(0).peak
	require.Greater(t, high, uint8(3))
	for range int(high) * patience / 512 {
		burst(16)
	}
	require.Zero(t, s.shard(0).peak)
}
