package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/stats"
)

// EndTake does what End and TryTake do, one after the other: two sets of one
// shard, of which one takes so, hand out the same items with the same priorities.
func TestEndTakeIsEndAndTake(t *testing.T) {
	testscale.Rapid(2_000)
	type taken struct {
		item, priority int
		h              Handle
	}
	rapid.Check(t, func(t *rapid.T) {
		config := Config[int]{Settings: Settings{Clock: clock.NewFake(start), Ages: rapid.Bool().Draw(t, "Ages"), LowPriorityInterval: 3}}
		if rapid.Bool().Draw(t, "grouped") {
			config.Group = func(item int) string { return string(rune('a' + item%3)) }
			limit := rapid.IntRange(0, 2).Draw(t, "limit")
			rate := rapid.SampledFrom([]stats.Rate{{}, {PerSecond: 1, Burst: 3}}).Draw(t, "rate") // which the hold does not know
			config.GroupPolicy = func(group string) stats.GroupPolicy {
				return stats.GroupPolicy{Weight: int(group[0]-'a') + 1, Limit: limit, Rate: rate}
			}
		}
		apart, together := newTestSet(t, config), newTestSet(t, config)
		var a, b []taken
		take := func(s *Set[int], from []taken) []taken {
			if item, priority, h, ok := s.TryTake(); ok {
				from = append(from, taken{item, priority, h})
			}
			return from
		}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			item := rapid.IntRange(0, 9).Draw(t, "item")
			switch call := rapid.SampledFrom([]string{"add", "add", "end", "end", "take", "pause"}).Draw(t, "call"); {
			case call == "add":
				d := Delay{Priority: rapid.IntRange(-1, 1).Draw(t, "priority")}
				apart.AddWith(item, d)
				together.AddWith(item, d)
			case call == "take":
				a, b = take(apart, a), take(together, b)
			case call == "pause" && rapid.Bool().Draw(t, "on"):
				apart.Core.Pause()
				together.Core.Pause()
			case call == "pause":
				apart.Core.Resume()
				together.Core.Resume()
			case len(a) > 0:
				i := item % len(a)
				require.True(t, apart.Core.End(a[i].h))
				next, priority, h, ended, ok := together.EndTake(b[i].h)
				require.True(t, ended)
				a, b = append(a[:i:i], a[i+1:]...), append(b[:i:i], b[i+1:]...)
				if a = take(apart, a); ok {
					b = append(b, taken{next, priority, h})
				} else {
					b = take(together, b)
				}
			}
			require.Len(t, b, len(a))
			for i := range a {
				require.Equal(t, [2]int{a[i].item, a[i].priority}, [2]int{b[i].item, b[i].priority})
			}
			require.Equal(t, apart.Core.Stats().Ready, together.Core.Stats().Ready)
		}
	})
}

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
