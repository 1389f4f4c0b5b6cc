package contract

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A context that has ended takes nothing, whatever the call, also after a
// shutdown, and ends the wait of WaitIdle.
func TestC35C37C59EndedContext(t *testing.T) {
	q := newQueue[string](2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, change := range []func(){func() { q.Add("a") }, q.ShutDown, func() { q.Cancel("a") }} {
		change()
		before := q.Stats()
		_, err := q.GetContext(ended)
		require.ErrorIs(t, err, context.Canceled)
		_, err = q.Claim(ended)
		require.ErrorIs(t, err, context.Canceled)
		n, err := q.ClaimBatch(ended, make([]worker.Claim[string], 3))
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, n)
		for item := range q.Items(ended) {
			t.Fatalf("got %s", item)
		}
		require.Equal(t, before, q.Stats())
		if before.Held > 0 {
			require.ErrorIs(t, q.WaitIdle(ended), context.Canceled)
		} else {
			require.NoError(t, q.WaitIdle(ended))
		}
	}
	require.ErrorIs(t, q.AddContext(ended, "b", shardq.AddOptions{}), context.Canceled)
}
