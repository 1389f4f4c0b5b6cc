package floor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/bench/floor"
	"github.com/shardq/shardq/bench/workload"
)

// TestTheFloorCarriesItems checks that the floor loses no items. Otherwise it
// would be too fast.
func TestTheFloorCarriesItems(t *testing.T) {
	keys := workload.Strings(4096)
	load := workload.Load{Producers: 3, Consumers: 3, Warmup: 1000, Items: 20_000}
	for _, e := range []workload.Engine[string]{floor.Engine[string](8, 4096), floor.Claims[string](8, 4096)} {
		t.Run(e.Name, func(t *testing.T) {
			assert.GreaterOrEqual(t, workload.Closed(e.New(), keys, load).Completed, 20_000)
			batches := e.New().(workload.BatchQueue[string])
			assert.GreaterOrEqual(t, workload.Batches(batches, keys, load).Completed, 20_000)
			delaying := e.New().(workload.DelayingQueue[string])
			const within = 20 * time.Millisecond
			assert.GreaterOrEqual(t, workload.DelayedCycle(delaying, keys, workload.Delays(len(keys), within), 2), within/2)
		})
	}
}

func TestTheFloorHandsOutWhatWasAdded(t *testing.T) {
	q := floor.New[string](4, 100)
	defer q.ShutDown()
	keys := workload.Strings(1000)
	q.AddBatch(keys)
	require.Equal(t, 1000, q.Len())
	got := make([]string, 1000)
	for n := 0; n < len(got); {
		some, err := q.GetBatch(context.Background(), got[n:])
		require.NoError(t, err)
		n += some
	}
	assert.ElementsMatch(t, keys, got)
	assert.Zero(t, q.Len())
}
