package debugpage

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// counting returns a coalescer with two pending keys, of which one has been put
// three times, and one taken.
func counting(t *testing.T) *coalesce.Coalescer[string, int] {
	t.Helper()
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Queue:    shardq.Options[string]{Name: "clicks", Shards: 1, Metrics: true, Clock: newFake()},
		Merge:    func(pending, next int) int { return pending + next },
		Weight:   func(value int) int { return value },
		Capacity: 1500,
	})
	require.NoError(t, c.Put("taken", 7))
	_, _, err := c.Take(t.Context())
	require.NoError(t, err)
	for _, value := range []int{1000, 200, 34} {
		require.NoError(t, c.Put("home", value))
	}
	require.NoError(t, c.Put("about", 266))
	return c
}

// TestValues checks that all formats have the pending values of a Coalescer,
// and that a plain queue has none of them.
func TestValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the time is fixed
		c := counting(t)
		h := reproducible(must(t, Options{Queues: []shardq.Inspector{c.Queue()}}))
		golden(t, "coalescer.json", indented(t, get(t, h, "?format=json")))
		golden(t, "coalescer.txt", get(t, h, "?format=text"))

		require.Equal(t, &values{Keys: 2, Weight: 1500, Capacity: 1500, Put: 5, Merged: 2, MergedShare: 0.4}, getReport(t, h, "").Queues[0].Values)
		page := get(t, h, "")
		require.Contains(t, page, `aria-label="Pending values"`)
		require.Contains(t, page, `<span data-value="values.weight" data-format="brief" title="1,500">1,500</span><small title=" of 1,500"> of 1,500</small>`)
		require.NoError(t, c.Put("more", 1))
		require.EqualValues(t, 1, getReport(t, h, "").Queues[0].Values.OverCapacity)

		overview := getReport(t, Handler(c.Queue(), shardq.MustNew(shardq.Options[int]{Name: "plain"})), "")
		require.Equal(t, 1501, overview.Queues[0].Values.Weight)
		require.Nil(t, overview.Queues[1].Values)
	})
	plain := Handler(shardq.MustNew(shardq.Options[int]{}))
	require.NotContains(t, get(t, plain, ""), `data-value="values.`)
	require.NotContains(t, get(t, plain, "?format=text"), "Values")
}

// TestValuesWithoutBound checks that there is no "of 0" without a capacity, and
// no share without a put.
func TestValuesWithoutBound(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, int]{Merge: func(pending, _ int) int { return pending }})
	require.Equal(t, &values{}, getReport(t, Handler(c.Queue()), "").Queues[0].Values)
	require.NotContains(t, get(t, Handler(c.Queue()), ""), " of 0")
}

// TestLingersCancelsAndOutages checks the rows of keys that wait for more
// values, of values that were taken back, and of failures without a success.
func TestLingersCancelsAndOutages(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{Clock: newFake()}, Linger: time.Minute,
		Merge: func(pending, next int) int { return pending + next },
	})
	h := Handler(c.Queue())
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, c.Put(key, 1))
	}
	_, canceled := c.Cancel("c")
	require.True(t, canceled)
	q := getReport(t, h, "").Queues[0]
	require.Equal(t, 2, q.Values.Lingering)
	require.EqualValues(t, 1, q.Counters.Canceled)
	require.Contains(t, get(t, h, "?format=text"), "  Keys that linger           2\n")
	require.Contains(t, get(t, h, ""), `data-value="values.lingering"`)

	require.NoError(t, c.PutWith("a", 1, coalesce.PutOptions{Delay: -1}))
	claim, err := c.Claim(t.Context())
	require.NoError(t, err)
	failures := claim.Owner().(worker.Reporter[coalesce.Entry[string, int]])
	for range 6 {
		failures.ReportFailure(t.Context(), worker.Failure[coalesce.Entry[string, int]]{Err: errors.New("down")}, nil)
	}
	q = getReport(t, h, "").Queues[0]
	require.Equal(t, 1, q.Values.Lingering)
	require.Equal(t, 6, q.Gauges.OutageFailures)
	require.EqualValues(t, 1, q.Counters.Outages)
	require.Contains(t, get(t, h, ""), `data-value="gauges.outageFailures" data-format="count">6<`)
}
