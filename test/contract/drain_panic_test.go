package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// wired returns options of a queue whose clock and hook step on the wire.
func wired(shards int, wire *tripwire) shardq.Options[string] {
	return shardq.Options[string]{
		Shards: shards, Clock: wiredClock{newFake(), wire},
		HighWatermark: 2, LowWatermark: 1, OnWatermark: func(shardq.Watermark) { wire.step("OnWatermark") },
	}
}

// forEachPanicInADrain calls drain with a wire that makes each call of user code
// panic in its turn, while the wire is awake. Drain returns what it dropped.
func forEachPanicInADrain(t *testing.T, drain func(t *testing.T, wire *tripwire, shards int, o shardq.DrainOptions) []string) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for _, retries := range []shardq.RetryPolicy{shardq.RefuseRetries, shardq.TakeRetries} {
			for _, function := range []string{"Now", "AfterFunc", "Reset", "Stop", "OnWatermark"} {
				for k, wire := 1, (*tripwire)(nil); wire == nil || wire.calls >= wire.at; k++ {
					wire = &tripwire{function: function, at: k}
					dropped := drain(t, wire, shards, shardq.DrainOptions{Retries: retries})
					slices.Sort(dropped)
					require.Equal(t, []string{"a", "b", "c"}, dropped, "call %d of %s", k, function)
				}
			}
		}
	})
}

func TestC42PanicInADrainLosesNothing(t *testing.T) {
	forEachPanicInADrain(t, func(t *testing.T, wire *tripwire, shards int, o shardq.DrainOptions) (dropped []string) {
		var q *shardq.Queue[string]
		wire.asleep(func() {
			q = shardq.Must(wired(shards, wire))
			for _, item := range []string{"a", "b", "c"} {
				q.AddAfter(item, time.Hour)
			}
		})
		wire.insist(func() {
			items, err := q.Drain(t.Context(), o)
			require.NoError(t, err)
			dropped = append(dropped, items...)
		})
		return dropped
	})
}

func TestC57PanicInADrainLosesNothing(t *testing.T) {
	forEachPanicInADrain(t, func(t *testing.T, wire *tripwire, shards int, o shardq.DrainOptions) (dropped []string) {
		var c *shardq.Coalescer[string, string]
		wire.asleep(func() {
			c = newJoiner(shards, func(o *shardq.CoalescerOptions[string, string]) { o.Queue = wired(shards, wire) })
			for _, key := range []string{"a", "b", "c"} {
				require.NoError(t, c.Put(key, "1"))
			}
			for range 3 {
				key, value, err := c.Take(t.Context())
				require.NoError(t, err)
				require.NoError(t, c.Retry(key, value))
			}
		})
		wire.insist(func() {
			entries, err := c.Drain(t.Context(), o)
			require.NoError(t, err)
			for _, e := range entries {
				dropped = append(dropped, e.Key)
			}
		})
		return dropped
	})
}
