package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A hook that panics after EndTake has ended a processing leaves no item in
// processing. A handle that is too late takes nothing.
func TestEndTakeWhoseHookPanics(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{
		HighWatermark: 2,
		LowWatermark:  1,
		OnWatermark: func(high bool) {
			if !high {
				panic("on purpose")
			}
		},
	}})
	s.Add(1)
	s.Add(2)
	_, _, h, _ := s.TryTake()
	require.PanicsWithValue(t, "on purpose", func() { s.EndTake(h) })
	require.Equal(t, [2]int{1, 0}, [2]int{s.Core.Stats().Ready, s.Core.Stats().Processing})
	_, _, _, ended, ok := s.EndTake(h)
	require.False(t, ended || ok)
}

// EndTake leaves the shard at the end of its turn, and to a higher priority in
// another shard.
func TestEndTakeStaysInTurn(t *testing.T) {
	keepStack(t)
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2}, Route: parity})
	for item := range 8 * quantum {
		s.Add(item)
	}
	item, _, h, _ := s.TryTake()
	in := 1
	for ok := true; ok; in++ {
		var next int
		if next, _, h, _, ok = s.EndTake(h); ok {
			require.Equal(t, item%2, next%2)
		}
	}
	require.LessOrEqual(t, in, quantum+1)

	for first := range 2 { // in one of the shards, it is this consumer's turn
		s = newTestSet(t, Config[int]{Settings: Settings{Shards: 2}, Route: parity})
		s.Add(first)
		s.Add(first + 2)
		_, _, h, _ = s.TryTake()
		s.AddWith(first+1, Delay{Priority: 5})
		_, _, _, ended, ok := s.EndTake(h)
		require.True(t, ended && !ok)
		item, priority, _, _ := s.TryTake()
		require.Equal(t, [2]int{first + 1, 5}, [2]int{item, priority})
	}
}
