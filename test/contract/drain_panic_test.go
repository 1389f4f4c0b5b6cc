package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// faultyOptions returns options of a queue whose clock and hook call the
// injector.
func faultyOptions(shards int, injector *faultInjector) shardq.Options[string] {
	return shardq.Options[string]{
		Shards: shards, Clock: injectedClock{newFake(), injector},
		Watermarks: shardq.Watermarks{High: 2, Low: 1, On: func(shardq.Watermark) { injector.step("OnWatermark") }},
	}
}

// forEachPanicInADrain calls drain with an injector, once for each call of user
// code, which panics. Drain returns what it dropped.
func forEachPanicInADrain(t *testing.T, drain func(t *testing.T, injector *faultInjector, shards int, o shardq.DrainOptions) []string) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for _, retries := range []shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries} {
			for _, function := range []string{"Now", "AfterFunc", "Reset", "Stop", "OnWatermark"} {
				for k, injector := 1, (*faultInjector)(nil); injector == nil || injector.calls >= injector.at; k++ {
					injector = &faultInjector{function: function, at: k}
					dropped := drain(t, injector, shards, shardq.DrainOptions{Retries: retries})
					slices.Sort(dropped)
					require.Equal(t, []string{"a", "b", "c"}, dropped, "call %d of %s", k, function)
				}
			}
		}
	})
}

func TestC42PanicInADrainLosesNothing(t *testing.T) {
	forEachPanicInADrain(t, func(t *testing.T, injector *faultInjector, shards int, o shardq.DrainOptions) (dropped []string) {
		var q *shardq.Queue[string]
		injector.disabled(func() {
			q = shardq.MustNew(faultyOptions(shards, injector))
			for _, item := range []string{"a", "b", "c"} {
				q.AddAfter(item, time.Hour)
			}
		})
		injector.retry(func() {
			items, err := q.Drain(t.Context(), o)
			require.NoError(t, err)
			dropped = append(dropped, items...)
		})
		return dropped
	})
}

func TestC57PanicInADrainLosesNothing(t *testing.T) {
	forEachPanicInADrain(t, func(t *testing.T, injector *faultInjector, shards int, o shardq.DrainOptions) (dropped []string) {
		var c *coalesce.Coalescer[string, string]
		injector.disabled(func() {
			c = newJoiner(shards, func(o *coalesce.Options[string, string]) { o.Queue = faultyOptions(shards, injector) })
			for _, key := range []string{"a", "b", "c"} {
				require.NoError(t, c.Put(key, "1"))
			}
			for range 3 {
				key, value, err := c.Take(t.Context())
				require.NoError(t, err)
				require.NoError(t, c.Retry(key, value))
			}
		})
		injector.retry(func() {
			entries, err := c.Drain(t.Context(), o)
			require.NoError(t, err)
			for _, e := range entries {
				dropped = append(dropped, e.Key)
			}
		})
		return dropped
	})
}
