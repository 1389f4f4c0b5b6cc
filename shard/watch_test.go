package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// TestStuckAfterEndTake: the hold that takes the next item begins its watch.
func TestStuckAfterEndTake(t *testing.T) {
	c := clock.NewFake(start)
	var stuck []int
	s := newTestSet(t, Config[int]{
		Settings: Settings{
			Clock: c, Ages: true, StuckAfter: time.Second, OnStuck: func(i stats.Item[any]) { stuck = append(stuck, i.Item.(int)) },
		},
	})
	s.Add(1)
	s.Add(2)
	_, _, h, _ := s.TryTake()
	c.Step(2 * time.Second)
	_, _, _, _, ok := s.EndTake(h)
	require.True(t, ok)
	c.Step(2 * time.Second)
	require.Equal(t, []int{1, 2}, stuck)
}

// TestTakeInASearchedShard: the watchdog has passed the shard already.
func TestTakeInASearchedShard(t *testing.T) {
	c, found := clock.NewFake(start), map[int]int{}
	s := newTestSet(t, Config[int]{
		Settings: Settings{
			Shards: 2, Clock: c, Ages: true, StuckAfter: time.Second, OnStuck: func(i stats.Item[any]) { found[i.Item.(int)]++ },
		},
	})
	at := [2]int{}
	for i := 1; at[0] == 0 || at[1] == 0; i++ {
		sh, _ := s.locate(i)
		at[sh.number] = i
	}
	itemOf := s.Core.items.Any
	s.Core.items.Any = func(e *items.Entry) any { // the search calls it
		s.TryTake()
		return itemOf(e)
	}
	s.Add(at[1])
	s.TryTake()
	s.Add(at[0])
	c.Step(1002 * time.Millisecond)
	c.Step(3 * time.Second)
	require.Equal(t, map[int]int{at[0]: 1, at[1]: 1}, found)
}

func TestOutboxKeepsNothingThatWasTaken(t *testing.T) {
	var o outbox[*int]
	keep(&o, new(int), new(int))
	takeReport(&o)
	require.Nil(t, o.kept[0])
	closeOutbox(&o)
	keep(&o, new(int))
	require.False(t, o.pending.Load())
}
