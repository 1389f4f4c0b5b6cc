package faults

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
)

// TestAHotKey checks that a key which is added again and again beside an endless
// backlog, but less often than others, gets turns, once for each message that is
// stored, and in no two runs at a time. At the end nothing is left.
func TestAHotKey(t *testing.T) {
	o := alone(t)
	o.Partitions, o.MaxAckPending, o.Lease = 1, 8, longLease
	node := join(t, o)
	const backlog = 100
	for i := range backlog {
		require.NoError(t, node.Add(t.Context(), fmt.Sprint(i)))
	}
	require.NoError(t, node.Add(t.Context(), "hot"))
	hot, cold := make(chan uint64, 100_000), atomic.Int64{}
	var over, together atomic.Bool
	begin(t, node, func(ctx context.Context, c cluster.Claim[string]) error {
		if c.Key == "hot" {
			if together.Swap(true) {
				t.Error("two runs at a time")
			}
			defer together.Store(false)
			hot <- c.Sequence()
		}
		if over.Load() {
			return nil
		}
		if c.Key == "hot" {
			return node.Add(ctx, "hot")
		}
		n := cold.Add(1)
		if n%(backlog/2) == 0 { // before its turn can come
			if err := node.Add(ctx, "hot"); err != nil {
				return err
			}
		}
		return node.Add(ctx, fmt.Sprint(n+backlog)) // which is the newest then
	})
	last := uint64(0)
	for range 5 {
		next := receive(t, hot)
		require.Greater(t, next, last)
		last = next
	}
	over.Store(true)
	require.Less(t, cold.Load(), int64(400*backlog), "runs of others meanwhile")
	eventually(t, func() bool { s := status(t, node); return s.Pending == 0 && s.Partitions[0].Taken == 0 })
}
