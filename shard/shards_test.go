package shard

import (
	"hash/maphash"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShardIsMadeOnce: many goroutines need a shard at once, and all get the
// same. Each adds an item, and none is lost.
func TestShardIsMadeOnce(t *testing.T) {
	const rounds, adders = 5000, 4
	for range rounds {
		s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2}})
		begin, all := make(chan struct{}), sync.WaitGroup{}
		for item := range adders {
			all.Go(func() {
				<-begin
				s.Add(item)
			})
		}
		close(begin)
		all.Wait()
		require.Equal(t, adders, s.Core.Len())
	}
}

// hash returns the hash of an item. Its low half finds the item in its shard.
func (s *Set[T]) hash(item T) uint64 { return maphash.Comparable(s.Core.seed, item) }

// shardOf returns the shard of an item.
func (s *Set[T]) shardOf(item T) *shard {
	sh, _ := s.locate(item)
	return sh
}
