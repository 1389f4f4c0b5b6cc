package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

// A fusedClock panics at one call of Now.
type fusedClock struct {
	*clock.Fake
	calls, fuse int // panics at call number fuse; 0 is never
}

func (c *fusedClock) Now() time.Time {
	if c.calls++; c.calls == c.fuse {
		panic("fuse")
	}
	return c.Fake.Now()
}

// TestC17PlacesNeedNoUserCode: what was handed out can be ended, and asked for
// again, though all that routes it panics.
func TestC17PlacesNeedNoUserCode(t *testing.T) {
	for name, routing := range map[string]func(broken *bool) Config[int]{
		"hash": func(broken *bool) Config[int] {
			return Config[int]{Route: func(int) uint64 { require.False(t, *broken); return 7 }}
		},
		"group": func(broken *bool) Config[int] {
			return Config[int]{Group: func(int) string { require.False(t, *broken); return "g" }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			broken := false
			config := routing(&broken)
			config.Shards = 16
			s := newTestSet(t, config)
			s.AddBatch([]int{1, 2, 3})
			broken = true
			item, _, at, err := s.GetContextAt(context.Background())
			require.NoError(t, err)
			require.True(t, s.AgainAt(item, at))
			s.DoneAt(item, at)
			var items [3]int
			var places [3]Place
			n, err := s.GetBatchAt(context.Background(), items[:], nil, places[:])
			require.NoError(t, err)
			require.Equal(t, [3]int{2, 3, 1}, items)
			s.DoneBatchAt(items[:n], places[:n])
			require.Zero(t, s.Stats().Held)
		})
	}
}

// TestC17ClockPanicsBesideABatch: whichever call of the clock panics, no item is
// left in processing with nobody, and what was to end has ended.
func TestC17ClockPanicsBesideABatch(t *testing.T) {
	for _, config := range []Config[int]{
		{},
		{Group: func(item int) string { return fmt.Sprint(item % 3) }},
		{Shards: 4, LowerLevelEvery: 2},
	} {
		for k := 1; k < 40; k++ {
			c := &fusedClock{Fake: clock.NewFake(start)}
			config.Clock, config.Ages, config.Metrics = c, true, true
			s := newTestSet(t, config)
			for item := range 8 {
				s.AddWith(item, Delay{Priority: item})
			}
			c.calls, c.fuse = 0, k
			var items [3]int
			var places [3]Place
			taken := 0
			for taken < 8 {
				n := 0
				attempt(func() { n, _ = s.GetBatchAt(context.Background(), items[:], nil, places[:]) })
				attempt(func() { s.DoneBatchAt(items[:n], places[:n]) })
				taken += n
				for i := range s.shards {
					require.Zero(t, s.shards[i].processing, "call %d", k)
				}
			}
			c.fuse = 0
			require.Zero(t, s.Stats().Held)
		}
	}
}

// attempt calls do, and ends its panic.
func attempt(do func()) {
	defer func() { _ = recover() }()
	do()
}
