package shardqprom_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// ofCoalescers are the series that no other queue has.
var ofCoalescers = []string{
	"shardq_pending_keys", "shardq_pending_weight", "shardq_pending_capacity",
	"shardq_puts_total", "shardq_merged_puts_total", "shardq_exceeding_values_total",
}

// newCoalescer returns one whose values are texts, weighed by their lengths.
func newCoalescer(capacity int) *shardq.Coalescer[string, string] {
	return shardq.MustCoalescer(shardq.CoalescerOptions[string, string]{
		Queue:    shardq.Options[string]{Name: "texts", Metrics: true},
		Merge:    func(pending, next string) string { return pending + next },
		Weight:   func(value string) int { return len(value) },
		Capacity: capacity,
	})
}

// TestCoalescer: what is pending is shown beside the queue of its keys.
func TestCoalescer(t *testing.T) {
	c := newCoalescer(5)
	require.NoError(t, c.Put("a", "12"))
	require.NoError(t, c.Put("a", "34"))
	require.NoError(t, c.Put("a", "5"))
	require.NoError(t, c.Put("b", "1"))  // beyond the capacity
	require.NoError(t, c.Put("b", "23")) // and again
	require.ErrorIs(t, c.TryPut("c", "1"), shardq.ErrFull)
	families := gather(t, newCollector(t, shardqprom.Options{}, c.Queue()))
	for name, want := range map[string]float64{
		"workqueue_depth": 2, "shardq_pending_keys": 2, "shardq_pending_weight": 8, "shardq_pending_capacity": 5,
		"shardq_puts_total": 5, "shardq_merged_puts_total": 3, "shardq_exceeding_values_total": 2,
	} {
		require.Equal(t, want, value(t, families, name, "name=texts"), name)
	}
}

// TestCoalescerThatIsClosed: it disappears when the last of its values has been dealt with.
func TestCoalescerThatIsClosed(t *testing.T) {
	c := newCoalescer(0)
	require.NoError(t, c.Put("a", "1"))
	collector := newCollector(t, shardqprom.Options{}, c.Queue())
	c.ShutDown()
	require.Equal(t, 1.0, value(t, gather(t, collector), "shardq_pending_keys"))
	_, _, err := c.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, 0.0, value(t, gather(t, collector), "shardq_pending_keys"))
	c.Done("a")
	require.Empty(t, gather(t, collector))
}

// TestMissingSeriesOfCoalescers: other queues have none of them, and one without a bound no capacity.
func TestMissingSeriesOfCoalescers(t *testing.T) {
	q, _ := newQueue("q")
	for _, name := range ofCoalescers {
		require.NotContains(t, gather(t, newCollector(t, shardqprom.Options{}, q)), name)
	}
	boundless := gather(t, newCollector(t, shardqprom.Options{}, newCoalescer(0).Queue()))
	require.NotContains(t, boundless, "shardq_pending_capacity")
	require.Contains(t, boundless, "shardq_pending_weight")
}
