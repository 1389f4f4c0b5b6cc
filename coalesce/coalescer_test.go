package coalesce

import (
	"context"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

func sum(pending, next int) int { return pending + next }

// TestC55PutBetweenTheStepsOfARetry: a value is put after the returned value
// was inserted, and before its key is delayed. With PutEndsBackoff, the key is
// not delayed then.
func TestC55PutBetweenTheStepsOfARetry(t *testing.T) {
	for _, ends := range []bool{false, true} {
		fake := clock.NewFake(time.Unix(0, 0))
		c := MustNew(Options[string, string]{
			Queue: shardq.Options[string]{Clock: fake}, PutEndsBackoff: ends,
			Merge: func(a, b string) string { return a + b },
		})
		require.NoError(t, c.Put("a", "1"))
		_, value, err := c.Take(context.Background())
		require.NoError(t, err)

		r := valueReturn[string, string]{c: c, stripe: c.stripeOf("a"), key: "a", value: value, weight: 1, at: c.shards.HandleOf("a")}
		r.setDelay(time.Second)
		require.True(t, r.insert())
		require.NoError(t, c.Put("a", "2"))
		r.requeue()
		c.shards.DoneAt("a", r.at)

		require.Equal(t, ends, c.Queue().Len() == 1, "PutEndsBackoff is %v", ends)
		fake.Step(time.Second)
		_, value, err = c.Take(context.Background())
		require.NoError(t, err)
		require.Equal(t, "12", value)
		c.Done("a")
		require.Zero(t, c.Stats().Held)
	}
}

// TestC54PutBetweenTheStepsOfATake: a value is put after a Take has got the key, and
// before it takes the values. The key does not come again for it.
func TestC54PutBetweenTheStepsOfATake(t *testing.T) {
	for _, put := range [][2]PutOptions{{{}, {Priority: 1}}, {{}, {Delay: time.Hour}}, {{Delay: time.Hour}, {}}} {
		fake := clock.NewFake(time.Unix(0, 0))
		c := MustNew(Options[string, int]{Merge: sum, Queue: shardq.Options[string]{Clock: fake}})
		require.NoError(t, c.PutWith("a", 1, put[0]))
		fake.Step(time.Hour)
		key, _, at, err := c.shards.Take(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.PutWith("a", 2, put[1]))
		value, ok := c.takeValue(&taken[string, int]{key: key, at: at})
		require.True(t, ok)
		require.Equal(t, 3, value)
		c.Done("a")
		require.Zero(t, c.Stats().Held)
	}
}

// TestC78NoLineStays checks that a line without values goes with its last teller.
func TestC78NoLineStays(t *testing.T) {
	var c *Coalescer[string, int]
	c = MustNew(Options[string, int]{Merge: sum, Queue: shardq.Options[string]{OnAdd: func(stats.Add[string]) { _, _ = c.Cancel("a") }}})
	require.NoError(t, c.Put("a", 1))
	s := c.stripeOf("a")
	require.Empty(t, s.lines)
	require.Zero(t, s.hollow)
	require.Zero(t, c.Len()+c.Stats().Held)
}

// TestFlightsShrink checks that a burst of values in processing leaves no large
// map.
func TestFlightsShrink(t *testing.T) {
	c := MustNew(Options[string, int]{Merge: sum, Readable: true})
	const burst = 100_000
	for key := range burst {
		require.NoError(t, c.Put(strconv.Itoa(key), 1))
	}
	taken := make([]worker.Claim[Entry[string, int]], burst)
	n, err := c.ClaimBatch(context.Background(), taken)
	require.NoError(t, err)
	require.Equal(t, burst, n)
	peak := func() (sum int) {
		for i := range c.stripes.all {
			sum += int(c.stripes.all[i].extras.peak)
		}
		return sum
	}
	require.Equal(t, burst, peak())
	require.NoError(t, c.DoneClaims(taken[:burst/2]))
	require.Equal(t, burst, peak())
	value, ok := c.Peek(taken[burst-1].Item.Key)
	require.True(t, ok)
	require.Equal(t, 1, value)
	require.NoError(t, c.DoneClaims(taken[burst/2:]))
	require.LessOrEqual(t, peak(), smallMap*len(c.stripes.all))
	for range c.Range() {
		t.Fatal("there are no values")
	}
}

// A stripe fits into a cache line of 64 bytes.
func TestStripeSize(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(stripe[int, int]{}), uintptr(64))
}
