package workload_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

func TestTrafficCarriesWhatTheLoadAsks(t *testing.T) {
	keys := workload.Strings(1024)
	warm := 0
	load := workload.Load{
		Producers: 3, Consumers: 2,
		Warmup: 1000, Items: 5000,
		Warm: func() { warm++ },
	}
	for _, e := range engine.Both[string]() {
		t.Run(e.Name, func(t *testing.T) {
			warm = 0
			open := workload.Open(e.New(), workload.Stream[string](keys), load)
			assert.GreaterOrEqual(t, open.Completed, 5000)
			assert.Positive(t, open.Elapsed)
			assert.Positive(t, open.NanosecondsPerItem())
			assert.Equal(t, 1, warm)

			closed := workload.Closed(e.New(), keys, load)
			assert.GreaterOrEqual(t, closed.Completed, 5000)
			assert.LessOrEqual(t, closed.Deduplicated, len(keys), "no more than can be on their way during the reading")
			assert.Equal(t, 2, warm)
		})
	}
}

func TestALimitEndsTheLoad(t *testing.T) {
	load := workload.Load{Producers: 1, Consumers: 1, Items: math.MaxInt, Limit: time.Millisecond}
	traffic := workload.Open(engine.HeapQueue[uint64]().New(), workload.HotKey(workload.Integers(1)), load)
	assert.GreaterOrEqual(t, traffic.Elapsed, time.Millisecond)
	assert.Positive(t, traffic.Completed)
}

func TestADelayedCycleLastsAsLongAsItsDelays(t *testing.T) {
	const within = 5 * time.Millisecond
	keys, delays := workload.Integers(1000), workload.Delays(1000, within)
	longest := time.Duration(0)
	for _, delay := range delays {
		assert.Positive(t, delay)
		longest = max(longest, delay)
	}
	assert.LessOrEqual(t, longest, within)
	for _, e := range engine.Both[uint64]() {
		q := e.New().(workload.DelayingQueue[uint64])
		assert.GreaterOrEqual(t, workload.DelayedCycle(q, keys, delays, 2), longest, e.Name)
	}
}

func TestNothingIsEarly(t *testing.T) {
	for _, e := range engine.Both[uint64]() {
		q := e.New().(workload.DelayingQueue[uint64])
		late := workload.Lateness(q, workload.Delays(200, 10*time.Millisecond))
		assert.Len(t, late, 200)
		assert.GreaterOrEqual(t, late[0], time.Duration(0), e.Name)
		assert.IsNonDecreasing(t, late)
	}
}

func TestReschedulingLeavesEveryKeyDelayed(t *testing.T) {
	for _, e := range engine.Both[string]() {
		q := e.New().(workload.DelayingQueue[string])
		pending := workload.NewDelayedKeys(q, workload.Strings(50))
		assert.Positive(t, pending.Reschedule(500))
		assert.Zero(t, q.Len(), e.Name)
		q.ShutDown()
	}
}

func TestMemoryIsMeasured(t *testing.T) {
	keys := workload.Strings(20_000)
	for _, e := range engine.Both[string]() {
		ready := workload.HeapOfReady(e.New, keys)
		assert.Greater(t, ready.PerItem, 16.0, "a string header at least")
		assert.Greater(t, workload.HeapOfDelayed(e.New, keys), 16.0, e.Name)
		cost := workload.CollectionWith(e.New(), keys, 2)
		assert.Positive(t, cost.Elapsed)
	}
}
