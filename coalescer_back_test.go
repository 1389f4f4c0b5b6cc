package shardq

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

// TestC55PutBetweenTheStepsOfARetry: a Put comes when the value is laid back, but
// its key does not wait yet. With PutEndsBackoff, the key does not wait then.
func TestC55PutBetweenTheStepsOfARetry(t *testing.T) {
	for _, ends := range []bool{false, true} {
		fake := clock.NewFake(time.Unix(0, 0))
		c := MustCoalescer(CoalescerOptions[string, string]{
			Queue: Options[string]{Clock: fake}, PutEndsBackoff: ends,
			Merge: func(a, b string) string { return a + b },
		})
		require.NoError(t, c.Put("a", "1"))
		_, value, err := c.Take(context.Background())
		require.NoError(t, err)

		g := giver[string, string]{c: c, stripe: c.stripeOf("a"), key: "a", value: value, weight: 1, at: c.queue.shards.HandleOf("a")}
		g.wait(time.Second)
		require.True(t, g.layBack())
		require.NoError(t, c.Put("a", "2"))
		g.comeAgain()
		c.queue.shards.DoneAt("a", g.at)

		require.Equal(t, ends, c.Queue().Len() == 1, "PutEndsBackoff is %v", ends)
		fake.Step(time.Second)
		_, value, err = c.Take(context.Background())
		require.NoError(t, err)
		require.Equal(t, "12", value)
		c.Done("a")
		require.Zero(t, c.Stats().Held)
	}
}
