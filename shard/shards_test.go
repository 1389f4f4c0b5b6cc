package shard

import (
	"hash/maphash"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/stats"
)

// TestShardsAreMadeWhenUsed: one item makes one shard, and inspections make
// none.
func TestShardsAreMadeWhenUsed(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 256})
	inspect := func() {
		s.Len()
		s.Stats()
		s.Inspect(10)
		s.Left()
		s.TimeLeft()
		for range s.Items(stats.Ready) {
		}
		for range s.Groups() {
		}
		s.TryTake()
	}
	inspect()
	require.Zero(t, len(madeShards(s)))
	require.NoError(t, s.WaitIdle(t.Context(), nil))
	s.Add(7)
	inspect()
	require.Len(t, madeShards(s), 1)
	require.Len(t, s.Stats().PerShard, 256, "those not made have a row, too")
	s.ShutDown()
	require.Len(t, madeShards(s), 1)
}

// TestShardIsMadeOnce: many goroutines need a shard at once, and all get the
// same. Each adds an item, and none is lost.
func TestShardIsMadeOnce(t *testing.T) {
	const rounds, adders = 5000, 4
	for range rounds {
		s := newTestSet(t, Config[int]{Shards: 2})
		addAtOnce(s, adders, func() {}).Wait()
		require.Equal(t, adders, s.Len())
	}
}

// addAtOnce adds that many items, and calls also, each in a goroutine of its
// own. They begin together, and end when Wait of the result returns.
func addAtOnce(s *Set[int], adders int, also func()) *sync.WaitGroup {
	begin, all := make(chan struct{}), &sync.WaitGroup{}
	for item := range adders {
		all.Go(func() {
			<-begin
			s.Add(item)
		})
	}
	all.Go(func() {
		<-begin
		also()
	})
	close(begin)
	return all
}

func madeShards[T comparable](s *Set[T]) (all []*shard[T]) {
	for sh := range s.made() {
		all = append(all, sh)
	}
	return all
}

// hash returns the hash of an item. Its low half finds the item in its shard.
func (s *Set[T]) hash(item T) uint64 { return maphash.Comparable(s.seed, item) }

// shardOf returns the shard of an item.
func (s *Set[T]) shardOf(item T) *shard[T] {
	sh, _ := s.locate(item)
	return sh
}
