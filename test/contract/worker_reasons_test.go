package contract

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Each failure says how long the attempt took, and whether and why the item
// will not run again.
func TestC73DurationAndReason(t *testing.T) {
	handle := func(_ context.Context, item string) error {
		time.Sleep(time.Minute)
		if item == "refused" {
			return worker.Permanent(errOnPurpose)
		}
		return errOnPurpose
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		o.MaxAttempts = 2
		q := newQueue[string](2)
		s := startPool(t, q, o)
		q.Add("refused")
		synctest.Wait()
		q.Add("again")
		time.Sleep(time.Hour)
		s.stopPool(t)
		reasons := map[string][]worker.Reason{}
		for _, f := range s.failed {
			reasons[f.Item] = append(reasons[f.Item], f.Reason)
			require.Equal(t, time.Minute, f.Duration)
		}
		require.Equal(t, map[string][]worker.Reason{
			"refused": {worker.ReasonPermanent},
			"again":   {worker.ReasonNone, worker.ReasonExhausted},
		}, reasons)
		for _, f := range s.discarded {
			require.Equal(t, time.Minute, f.Duration)
			require.Equal(t, map[string]worker.Reason{
				"refused": worker.ReasonPermanent, "again": worker.ReasonExhausted}[f.Item], f.Reason)
		}
		require.Len(t, s.discarded, 2)
	})
}

func TestC73NamesOfReasons(t *testing.T) {
	var names []string
	for r := worker.ReasonNone; r <= worker.ReasonRefused+1; r++ {
		names = append(names, r.String())
	}
	require.Equal(t, []string{"none", "permanent", "exhausted", "shutdown", "refused", "Reason(5)"}, names)
}

// What a shutdown left over comes apart from what failed for good, if a hook
// asks for it. The hooks' context has not ended.
func TestC73LeftoversOfAShutdown(t *testing.T) {
	for _, asks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			type key struct{}
			var leftover, discarded []string
			note := func(where *[]string) func(context.Context, worker.Failure[string]) {
				return func(ctx context.Context, f worker.Failure[string]) {
					require.NoError(t, ctx.Err())
					require.Equal(t, "value", ctx.Value(key{}))
					*where = append(*where, f.Item+" "+f.Reason.String())
				}
			}
			q := newQueue[string](1)
			o := worker.Options[string]{
				Workers: 1, OnDiscard: note(&discarded), MaxAttempts: 5,
				Drain: q.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed, Retries: shardq.RefuseRetries}),
				Handle: func(_ context.Context, item string) error {
					time.Sleep(time.Second)
					if item == "permanent" {
						return worker.Permanent(errOnPurpose)
					}
					return errOnPurpose
				},
			}
			if asks {
				o.OnLeftover = note(&leftover)
			}
			pool, err := worker.New(q, o)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
			ended := returned(func() { require.NoError(t, pool.Run(ctx)) })
			q.AddBatch([]string{"permanent", "failed"}, shardq.AddOptions{})
			q.AddAfter("delayed", time.Hour)
			synctest.Wait()
			cancel()
			time.Sleep(time.Minute)
			requireBecomesTrue(t, ended)
			forGood, late := []string{"permanent permanent"}, []string{"failed shutdown", "delayed shutdown"}
			if asks {
				require.Equal(t, forGood, discarded)
				require.Equal(t, late, leftover)
			} else {
				require.Equal(t, append(forGood, late...), discarded)
			}
		})
	}
}
