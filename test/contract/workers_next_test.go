package contract

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

type countingQueue struct {
	*shardq.Queue[string]
	claimed int
}

func (q *countingQueue) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
	n, err = q.Queue.ClaimBatch(ctx, dst)
	q.claimed += n
	return n, err
}

type countingCoalescer struct {
	*coalesce.Coalescer[string, int]
	claimed int
}

func (c *countingCoalescer) ClaimBatch(ctx context.Context, dst []worker.Claim[coalesce.Entry[string, int]]) (n int, err error) {
	n, err = c.Coalescer.ClaimBatch(ctx, dst)
	c.claimed += n
	return n, err
}

// A source that embeds a queue or a Coalescer hands out each item itself.
func TestC49SourceThatEmbedsAnother(t *testing.T) {
	const items = 10
	q := &countingQueue{Queue: newQueue[string](1)}
	c := &countingCoalescer{Coalescer: coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{Shards: 1}, Merge: func(a, b int) int { return a + b },
	})}
	for i := range items {
		q.Add(fmt.Sprint(i))
		require.NoError(t, c.Put(fmt.Sprint(i), 1))
	}
	q.ShutDown()
	c.ShutDown()
	require.NoError(t, runPool(t.Context(), t, q, worker.Options[string]{Handle: succeed[string]}))
	type entry = coalesce.Entry[string, int]
	require.NoError(t, runPool(t.Context(), t, c, worker.Options[entry]{Handle: succeed[entry]}))
	require.Equal(t, [2]int{items, items}, [2]int{q.claimed, c.claimed})
}

// A grumbler is the owner of claims whose reports of success panic.
type grumbler struct{ *shelf }

func (g grumbler) CountsAttempts() bool                { return true }
func (g grumbler) ReportAttempt(worker.Report[string]) { panic(errOnPurpose) }

func (g grumbler) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (n int, err error) {
	n, err = g.shelf.ClaimBatch(ctx, dst)
	for i, c := range dst[:n] {
		dst[i] = worker.NewClaim(c.Item, c.Priority, worker.Owner[string](g), c.Token())
	}
	return n, err
}

// A claim ends, too, if the report of the success panics.
func TestC51ReportOfASuccessPanics(t *testing.T) {
	for _, o := range []worker.Options[string]{
		{Handle: succeed[string]}, {HandleBatch: func(context.Context, []string) []error { return nil }, BatchSize: 1},
	} {
		shelf := newShelf("a")
		require.Panics(t, func() { _ = runPool(t.Context(), t, grumbler{shelf}, o) })
		require.Empty(t, shelf.taken)
	}
}

// A batch that panics after one without errors fails. It is counted after
// OnError. The next success ends the outage.
func TestC49BatchAfterOneWithoutErrors(t *testing.T) {
	for _, metrics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q, before := shardq.MustNew(shardq.Options[string]{Metrics: metrics}), uint64(0)
			s := startPool(t, q, worker.Options[string]{
				BatchSize: 1, MaxAttempts: 1,
				HandleBatch: func(_ context.Context, items []string) []error {
					if items[0] == "panics" {
						panic(errOnPurpose)
					}
					return nil
				},
				OnError: func(context.Context, worker.Failure[string]) {
					if metrics && before == 0 {
						before = countAttempts(q)
					}
				},
			})
			for i, item := range []string{"succeeds", "panics", "panics", "panics", "panics", "panics", "succeeds"} {
				q.Add(item)
				synctest.Wait()
				require.Equal(t, i == 5, q.Stats().OutageFailures == 5, item)
			}
			require.Len(t, s.discarded, 5)
			require.Equal(t, metrics, before == 1)
			s.stopPool(t)
		})
	}
}
