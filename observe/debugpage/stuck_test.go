package debugpage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// TestStuckItemsAreCounted checks that the overview and the page of a queue
// count the same items, with any number of rows, and also those of a batch.
func TestStuckItemsAreCounted(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 4, Clock: fake, Metrics: true, StuckAfter: time.Minute})
	takeBatch := func(size int) {
		for n := range size {
			q.Add(q.Stats().Held*10_000 + n)
		}
		_, show, closeSlot := q.Inspect().(worker.Slots[int]).OpenSlot()
		t.Cleanup(closeSlot)
		batch, claims := make([]int, size), make([]worker.Claim[int], size)
		n, err := q.ClaimBatch(t.Context(), claims)
		require.NoError(t, err)
		require.Equal(t, size, n)
		for i := range claims {
			batch[i] = claims[i].Item
		}
		show(batch)
	}
	requireStuck := func(want int, atLeast bool, text string) {
		t.Helper()
		whole, seen := Handler(q), Handler(q, shardq.MustNew(shardq.Options[int]{Name: "other"}))
		for name, r := range map[string]report{
			"overview": getReport(t, seen, ""), "queue": getReport(t, whole, ""), "one row": getReport(t, whole, "&rows=1"),
			"found": getReport(t, whole, "&key=1"),
		} {
			g := r.Queues[0].Gauges
			require.Equal(t, fmt.Sprint(want, atLeast), fmt.Sprint(g.Stuck, g.StuckAtLeast), name)
			if text != "" {
				require.Equal(t, text, r.Queues[0].Verdict.Text)
			}
		}
	}
	takeBatch(100)
	requireStuck(0, false, "")
	fake.Step(2 * time.Minute)
	takeBatch(30)
	requireStuck(100, false, "100 stuck")
	fake.Step(2 * time.Minute)
	takeBatch(1000)
	requireStuck(130, false, "130 stuck")
	fake.Step(2 * time.Minute)
	requireStuck(maxStuck, true, "1,000 or more stuck")
}
