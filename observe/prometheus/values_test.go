package shardqprom_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// TestEverySeries: one of everything; each series says its own number.
func TestEverySeries(t *testing.T) {
	q, fake := everything("q")
	c := newCollector(t, shardqprom.Options{Groups: 8}, q)
	expect := func(name string, want float64, labels ...string) {
		t.Helper()
		require.Equal(t, want, value(t, gather(t, c), name, labels...), name)
	}

	q.Add("a1")
	q.Add("a2")
	q.Add("a2") // merged
	item, _ := q.Get()
	require.Equal(t, "a1", item)
	q.Add("a1") // dirty
	q.AddAfter("b", time.Hour)
	q.AddAfter("c", time.Second)
	q.AddRateLimited("d")
	q.AddRateLimited("d")
	q.AddAfter("a1", time.Hour)
	fake.Step(2 * time.Second)
	require.True(t, q.Cancel("c").Ready)
	q.Done("nobody's")
	fake.Step(3 * time.Second)

	expect("workqueue_depth", 3) // a1, a2, d
	expect("workqueue_adds_total", 5)
	expect("workqueue_unfinished_work_seconds", 5)
	expect("workqueue_longest_running_processor_seconds", 5)
	expect("workqueue_retries_total", 5)
	expect("shardq_ready_items", 2)
	expect("shardq_processing_items", 1)
	expect("shardq_dirty_items", 1)
	expect("shardq_waiting_items", 2)
	expect("shardq_held_items", 4)
	expect("shardq_capacity_items", 4)
	expect("shardq_limiter_items", 1)
	expect("shardq_oldest_processing_seconds", 5)
	expect("shardq_workers", 0)
	expect("shardq_parked_consumers", 0)
	expect("shardq_shards", 2)
	expect("shardq_shutting_down", 0)
	expect("shardq_groups", 3)
	expect("shardq_held_back_groups", 1)
	expect("shardq_group_items", 1, "group=a", "state=ready")
	expect("shardq_group_items", 1, "group=a", "state=processing")
	expect("shardq_group_items", 1, "group=b", "state=waiting")
	expect("shardq_merged_adds_total", 1)
	expect("shardq_dropped_adds_total", 0)
	expect("shardq_rejected_adds_total", 0)
	expect("shardq_canceled_adds_total", 1)
	expect("shardq_exceeding_adds_total", 1)
	expect("shardq_misused_dones_total", 1)
	expect("shardq_ended_delays_total", 2)
	expect("shardq_backoffs_total", 2)
	expect("shardq_give_ups_total", 0)
	expect("shardq_scrape_failures_total", 0)

	delays := find(t, gather(t, c)["shardq_delay_seconds"]).Histogram
	require.EqualValues(t, 5, delays.GetSampleCount())
	require.Equal(t, (2*time.Hour + time.Second + 15*time.Millisecond).Seconds(), delays.GetSampleSum())
	require.EqualValues(t, 1, find(t, gather(t, c)["workqueue_queue_duration_seconds"]).Histogram.GetSampleCount())
	require.EqualValues(t, 0, find(t, gather(t, c)["workqueue_work_duration_seconds"]).Histogram.GetSampleCount())
	q.Done("a1")
	require.Equal(t, 5.0, find(t, gather(t, c)["workqueue_work_duration_seconds"]).Histogram.GetSampleSum())

	q.ShutDown()
	q.Add("late")
	expect("shardq_shutting_down", 1)
	expect("shardq_dropped_adds_total", 3)
}

func TestOldestReady(t *testing.T) {
	q, fake := newQueue("q")
	c := newCollector(t, shardqprom.Options{}, q)
	require.Equal(t, 0.0, value(t, gather(t, c), "shardq_oldest_ready_seconds"))
	q.Add("a")
	fake.Step(time.Second)
	q.Add("b")
	fake.Step(time.Second)
	require.Equal(t, 2.0, value(t, gather(t, c), "shardq_oldest_ready_seconds"))
}

// TestSkew: all goes to one of four shards.
func TestSkew(t *testing.T) {
	fake := clock.NewFake(time.Unix(1, 0))
	q := shardq.Must(shardq.Options[int]{Name: "q", Shards: 4, Metrics: true, Clock: fake, Hash: func(int) uint64 { return 0 }})
	c := newCollector(t, shardqprom.Options{}, q)
	require.Equal(t, 0.0, value(t, gather(t, c), "shardq_shard_skew_ratio"))
	q.Add(1)
	q.Add(2)
	require.Equal(t, 4.0, value(t, gather(t, c), "shardq_shard_skew_ratio"))
}

// TestWorkersAreCounted: those at work, what they give up, and those that wait for work.
func TestWorkersAreCounted(t *testing.T) {
	q := shardq.Must(shardq.Options[string]{Name: "q", Metrics: true})
	c := newCollector(t, shardqprom.Options{}, q)
	begun, finish := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- q.Run(context.Background(), 1, func(context.Context, string) error {
			begun <- struct{}{}
			<-finish
			return shardq.Permanent(context.Canceled)
		})
	}()
	q.Add("a")
	<-begun
	families := gather(t, c)
	require.Equal(t, 1.0, value(t, families, "shardq_workers"))
	require.Equal(t, 0.0, value(t, families, "shardq_parked_consumers"))
	q.Add("b")
	finish <- struct{}{}
	<-begun
	require.Equal(t, 1.0, value(t, gather(t, c), "shardq_give_ups_total"))
	close(finish)
	q.ShutDown()
	require.NoError(t, <-ended)
}

func TestRejectedAdds(t *testing.T) {
	q := shardq.Must(shardq.Options[float64]{Name: "q", Metrics: true})
	c := newCollector(t, shardqprom.Options{}, q)
	zero := 0.0
	q.Add(zero / zero)
	require.Equal(t, 1.0, value(t, gather(t, c), "shardq_rejected_adds_total"))
}

// TestMissingSeries: what a queue has not is not shown as a zero.
func TestMissingSeries(t *testing.T) {
	q, _ := newQueue("q")
	families := gather(t, newCollector(t, shardqprom.Options{Groups: 1}, q))
	for _, name := range []string{"shardq_capacity_items", "shardq_groups", "shardq_held_back_groups", "shardq_group_items"} {
		require.NotContains(t, families, name)
	}
	mute := shardq.Must(shardq.Options[string]{Name: "q", Metrics: true, RateLimiter: muteLimiter{}})
	require.NotContains(t, gather(t, newCollector(t, shardqprom.Options{}, mute)), "shardq_limiter_items")
}

// A muteLimiter does not tell what it has.
type muteLimiter struct{}

func (muteLimiter) When(string) time.Duration { return 0 }
func (muteLimiter) Forget(string)             {}
func (muteLimiter) NumRequeues(string) int    { return 0 }
