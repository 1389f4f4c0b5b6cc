package coalesce

import (
	"context"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

func sum(pending, next int) int { return pending + next }

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
