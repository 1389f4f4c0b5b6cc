package shard

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// TestSetRateMakesNoTokens: the rate changes while consumers take, and no time
// passes. They get the tokens of one full bucket, and none more.
func TestSetRateMakesNoTokens(t *testing.T) {
	for range 50 {
		changeRateBesideTakes(t)
	}
}

func changeRateBesideTakes(t *testing.T) {
	const tokens, consumers = 1000, 8
	rates := [2]stats.Rate{{PerSecond: 1.0 / 3600, Burst: tokens}, {PerSecond: 1.0 / 7200, Burst: tokens}}
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: clock.NewFake(start), Rate: rates[0]}})
	for item := range 2 * tokens {
		s.Add(item)
	}
	var taken, failed atomic.Int32
	var all sync.WaitGroup
	for range consumers {
		all.Go(func() {
			for failed.Load() < 1000 {
				item, _, _, ok := s.TryTake()
				if !ok {
					failed.Add(1)
					continue
				}
				taken.Add(1)
				s.Done(item)
			}
		})
	}
	for change := 0; failed.Load() < 1000; change++ {
		s.Core.SetRate(rates[change%2])
	}
	all.Wait()
	if n := taken.Load(); n != tokens {
		t.Fatalf("%d items were taken with %d tokens", n, tokens)
	}
}

// TestGateClosesBesideATokenGivenBack: whoever is refused leaves the gate open if
// there is a token.
func TestGateClosesBesideATokenGivenBack(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Rate: stats.Rate{PerSecond: 1.0 / 3600}}})
	g, now, opened := &s.Core.gate, s.Core.time.Nanoseconds(), atomic.Int32{}
	g.opened = func() { opened.Add(1) }
	require.True(t, g.enter(now))
	for range 50_000 {
		var both sync.WaitGroup
		entered := false
		both.Go(g.giveBack)
		both.Go(func() { entered = g.enter(now) })
		both.Wait()
		if !entered {
			require.Equal(t, uint64(never), g.opens.Load(), "closed beside a token")
			require.True(t, g.enter(now))
		}
	}
	require.NotZero(t, opened.Load(), "nobody was told")
}

// TestTokenOfARefusedItemComesBack: the group of the item had none.
func TestTokenOfARefusedItemComesBack(t *testing.T) {
	c := clock.NewFake(start)
	s := newTestSet(t, Config[int]{
		Settings: Settings{
			Clock: c, Rate: stats.Rate{PerSecond: 1.0 / 3600, Burst: 2},
			GroupPolicy: func(string) stats.GroupPolicy { return stats.GroupPolicy{Rate: stats.Rate{PerSecond: 1}} },
		},
		Group: func(int) string { return "g" },
	})
	for i := range 3 {
		s.Add(i)
	}
	takes := func(want bool) {
		_, _, _, ok := s.TryTake()
		require.Equal(t, want, ok)
	}
	takes(true)
	c.Step(time.Second)
	c.Step(-time.Second)
	takes(false)
	c.Step(time.Second)
	takes(true)
}
