package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// TestC43ViewSeesWhatTheQueueDoes checks that each method of a view returns
// what that of its queue does.
func TestC43ViewSeesWhatTheQueueDoes(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Name: "orders", Clock: fake, Group: tenant, Ages: true})
	q.AddBatch(ofTenant("a", 3))
	q.AddRateLimited("b/0")
	v := q.View()
	require.Equal(t, "orders", v.Name())
	require.Equal(t, 3, v.Len())
	require.Equal(t, 1, v.NumRequeues("b/0"))
	require.Equal(t, q.Stats(), v.Stats())
	require.Equal(t, q.Snapshot(2), v.Snapshot(2))
	require.Equal(t, slices.Collect(q.All(stats.Delayed)), slices.Collect(v.All(stats.Delayed)))
	require.Len(t, slices.Collect(v.Groups()), 2)
	require.False(t, v.ShuttingDown())
	fake.Step(time.Second)
	q.ShutDown()
	require.True(t, v.ShuttingDown())
	require.Equal(t, 4, v.Len())
}
