package debugpage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
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
		_, show, closeSlot := q.OpenSlot()
		t.Cleanup(closeSlot)
		batch := make([]int, size)
		n, err := q.GetBatch(t.Context(), batch)
		require.NoError(t, err)
		require.Equal(t, size, n)
		show(batch)
	}
	requireStuck := func(want int, atLeast bool, text string) {
		t.Helper()
		whole, seen := Handler(q), Handler(q.View(), shardq.MustNew(shardq.Options[int]{Name: "other"}))
		unlisted := Handler(struct{ shardq.Inspector }{q})
		for name, r := range map[string]report{
			"overview": getReport(t, seen, ""), "queue": getReport(t, whole, ""), "one row": getReport(t, whole, "&rows=1"),
			"found": getReport(t, whole, "&key=1"), "not listed": getReport(t, unlisted, ""),
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
