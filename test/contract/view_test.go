package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// TestC43ViewSeesWhatTheQueueDoes: each method of a view is that of its queue.
func TestC43ViewSeesWhatTheQueueDoes(t *testing.T) {
	fake := newFake()
	q := shardq.Must(shardq.Options[string]{Name: "orders", Clock: fake, Group: tenant, Ages: true})
	q.AddBatch(ofTenant("a", 3))
	q.AddRateLimited("b/0")
	v := q.View()
	require.Equal(t, "orders", v.Name())
	require.Equal(t, 3, v.Len())
	require.Equal(t, 1, v.NumRequeues("b/0"))
	require.Equal(t, q.Stats(), v.Stats())
	require.Equal(t, q.Snapshot(2), v.Snapshot(2))
	require.Equal(t, slices.Collect(q.All(shardq.Waiting)), slices.Collect(v.All(shardq.Waiting)))
	require.Len(t, slices.Collect(v.Groups()), 2)
	require.False(t, v.ShuttingDown())
	fake.Step(time.Second)
	q.ShutDown()
	require.True(t, v.ShuttingDown())
	require.Equal(t, 4, v.Len())
}
