package contract

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// H15: ten minutes pass at once with a million delays due, all in one shard.
// Other calls succeed while the driver catches up, because it never holds a
// lock for long.
func TestC26H15StallWithManyTimersDue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range 10 { // the scheduler may give this goroutine no processor during the catch-up
			if cyclesDuringCatchUp(t, shards, max(100_000, burstSize(shards))) > 0 {
				return
			}
		}
		require.Fail(t, "no other call succeeded during the catch-up")
	})
}

// cyclesDuringCatchUp counts the items that were added, handed out and Done
// while the driver was catching up.
func cyclesDuringCatchUp(t *testing.T, shards, timers int) (cycles int) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{
		Shards: shards, Clock: fake, Hash: func(int) uint64 { return 0 },
	})
	random := rand.New(rand.NewPCG(uint64(shards), 8))
	for item := range timers {
		q.AddAfter(item, 1+time.Duration(random.Int64N(int64(10*time.Minute))))
	}
	caughtUp := returned(func() { fake.Step(10*time.Minute + tick) })
	for !caughtUp() {
		begun := q.Stats().Expired > 0
		q.Add(-1)
		item, _ := q.Get()
		q.Done(item)
		if begun && q.Stats().Delayed > 0 {
			cycles++
		}
		runtime.Gosched()
	}
	finishAll(t, q)
	requireCounts(t, q, 0, 0, 0)
	require.EqualValues(t, timers, q.Stats().Expired)
	return cycles
}

// An offsetClock can be set while its timers follow another clock, as the wall
// clock of a machine can.
type offsetClock struct {
	clock.Clock
	offset atomic.Int64
}

func (c *offsetClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.offset.Load())) }

func TestC19H14ClockSetBackUnderItsTimers(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		wall := &offsetClock{Clock: line.clock}
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: wall})
		q.AddAfter("a", time.Minute)
		wall.offset.Store(int64(-time.Hour))
		line.pass(time.Minute + tick) // the timer fires an hour too soon
		requireCounts(t, q, 0, 1, 0)
		line.pass(time.Hour - 3*tick)
		requireCounts(t, q, 0, 1, 0)
		line.pass(3 * tick)
		requireCounts(t, q, 1, 0, 0)
	})
}

// C22: delays work as before on a clock that has advanced 200 years. The
// longest delay has not expired then.
func TestC22DelaysAfterCenturies(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	q := shardq.MustNew(shardq.Options[int]{Clock: fake})
	q.AddAfter(1, math.MaxInt64)
	const centuries = 200 * 365 * 24 * time.Hour
	fake.Step(centuries)
	require.Zero(t, q.Len())
	q.AddAfter(2, time.Second)
	fake.Step(time.Second)
	require.Equal(t, 1, q.Len())
	fake.Step(math.MaxInt64 - centuries - time.Second - time.Nanosecond)
	require.Equal(t, 1, q.Len())
}
