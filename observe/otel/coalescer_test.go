package shardqotel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

// newCoalescer returns one whose values are texts, weighed by their lengths.
func newCoalescer(capacity int) *shardq.Coalescer[string, string] {
	return shardq.MustCoalescer(shardq.CoalescerOptions[string, string]{
		Queue:    shardq.Options[string]{Name: "q", Metrics: true},
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
	w := newWatch(t, shardqotel.Options{}, c.Queue())
	for name, want := range map[string]float64{
		"workqueue.depth": 2, "shardq.pending.keys": 2, "shardq.pending.weight": 8, "shardq.pending.capacity": 5,
		"shardq.puts": 5, "shardq.merged.puts": 3, "shardq.exceeding.values": 2,
	} {
		require.Equal(t, want, w.value(t, name, q), name)
	}
}

// TestMissingMetricsOfCoalescers: other queues have none of them, and one without a bound no capacity.
func TestMissingMetricsOfCoalescers(t *testing.T) {
	queue, _ := newQueue("q")
	all := newWatch(t, shardqotel.Options{}, queue).collect(t)
	for _, name := range []string{
		"shardq.pending.keys", "shardq.pending.weight", "shardq.pending.capacity",
		"shardq.puts", "shardq.merged.puts", "shardq.exceeding.values",
	} {
		require.NotContains(t, all, name)
	}
	boundless := newWatch(t, shardqotel.Options{}, newCoalescer(0).Queue()).collect(t)
	require.NotContains(t, boundless, "shardq.pending.capacity")
	require.Contains(t, boundless, "shardq.pending.weight")
}
