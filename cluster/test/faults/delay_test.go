package faults

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/worker"
)

// TestAVeryLongDelay checks that a delay for which the servers have no number
// does not end at once.
func TestAVeryLongDelay(t *testing.T) {
	node := join(t, alone(t))
	ran := make(chan string, 1000)
	begin(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		if c.Key == "requeued" {
			return worker.RequeueAfter(math.MaxInt64)
		}
		return nil
	})
	require.NoError(t, node.Add(t.Context(), "requeued"))
	require.Equal(t, "requeued", receive(t, ran))
	require.NoError(t, node.AddAfter(t.Context(), "late", math.MaxInt64))
	require.NoError(t, node.AddAfter(t.Context(), "later", 240*365*24*time.Hour))
	eventually(t, func() bool { return status(t, node).Delayed == 3 })
	for _, key := range []string{"soon", "then"} { // the servers have looked twice by then
		require.NoError(t, node.AddAfter(t.Context(), key, time.Millisecond))
		require.Equal(t, key, receive(t, ran))
	}
	eventually(t, func() bool { return status(t, node).Delayed == 3 })
	require.Empty(t, ran)
}
