package contract

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A GroupPolicy that is slow, or waits for capacity itself, blocks neither
// other waiters nor a TryAdd.
func TestC40SlowGroupPolicyBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		slow := false
		var q *shardq.Queue[string]
		q = shardq.MustNew(shardq.Options[string]{Shards: 1, Capacity: 3, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy {
			if slow && group == "slow" {
				require.NoError(t, q.AddContext(t.Context(), "c/within", shardq.AddOptions{}))
				<-gate
			}
			return shardq.GroupPolicy{Weight: 1}
		}})
		for _, item := range []string{"a/1", "a/2", "a/3"} {
			q.Add(item)
		}
		entered := make([]bool, 2)
		for i, item := range []string{"slow/1", "b/1"} {
			go func() {
				require.NoError(t, q.AddContext(t.Context(), item, shardq.AddOptions{}))
				entered[i] = true
			}()
			synctest.Wait()
		}
		slow = true
		finishAll(t, q)
		synctest.Wait()
		require.Equal(t, []bool{false, true}, entered)
		require.Equal(t, 3, q.Len(), "slow/1 is in, too, and so is c/within")
		takeItem(t, q, "slow/1")
		q.Done("slow/1")
		require.NoError(t, q.TryAdd("b/2", shardq.AddOptions{}))
		close(gate)
		synctest.Wait()
		require.True(t, entered[0])
	})
}

// A hook for stuck items that does not return blocks only its own goroutine: no
// Get calls it, and ShutDown does not wait for it. No call comes after: the other
// items that were found are not reported.
func TestC44C17HookThatBlocksIsAlone(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		calls, served, release := atomic.Int32{}, 0, make(chan struct{})
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, StuckAfter: time.Second,
			OnStuck: func(stats.Item[int]) { calls.Add(1); <-release },
		})
		q.AddBatch(numbers(200), shardq.AddOptions{})
		stuck := takeAll(t, q)
		workers := returned(func() {
			for range q.Items(context.Background()) {
				served++
			}
		})
		for round := range 20 {
			time.Sleep(500 * time.Millisecond)
			q.Add(1000 + round)
			synctest.Wait()
			require.Equal(t, round+1, served)
		}
		before := calls.Load()
		require.Positive(t, before)
		requireBecomesTrue(t, returned(q.ShutDown))
		close(release)
		synctest.Wait()
		require.Equal(t, before, calls.Load())
		for _, item := range stuck {
			q.Done(item)
		}
		requireCounts(t, q, 0, 0, 0)
		requireBecomesTrue(t, workers)
	})
}

// The hook may call the queue, and its panic affects only its caller.
func TestC44HookMayUseTheQueue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		line := fakeTimeline()
		var q *shardq.Queue[string]
		calls := 0
		q = shardq.MustNew(shardq.Options[string]{
			Shards: shards, Clock: line.clock, StuckAfter: time.Second,
			OnStuck: func(i stats.Item[string]) {
				calls++
				if calls == 1 {
					panic("hook")
				}
				q.AddAfter("later", time.Second)
				q.Snapshot(3)
				q.Done(i.Item)
			},
		})
		q.Add("a")
		q.Add("b")
		takeAll(t, q)
		require.PanicsWithValue(t, "hook", func() { line.pass(time.Minute) })
		line.pass(time.Minute)
		q.AddAfter("c", time.Second)
		line.pass(time.Minute)
		line.pass(time.Minute) // so that "later" is due
		require.Equal(t, 2, calls, "the next call of the timer reports the other")
		require.Equal(t, 1, q.Stats().Processing)
		require.ElementsMatch(t, []string{"later", "c"}, finishAll(t, q))
	})
}

// A Cancel while the limiter counts a failure ends the run, and leaves no failure.
// The model of the coalescer has the same for its keys.
func TestC39CancelInTheLimiter(t *testing.T) {
	for _, end := range []func(worker.Claim[int]) error{worker.Claim[int].Retry, func(c worker.Claim[int]) error { return c.RequeueAfter(1) }} {
		var q *shardq.Queue[int]
		inside := false
		q = shardq.MustNew(shardq.Options[int]{RateLimiter: hookedLimiter[int]{limiter.NewExponential[int](time.Hour, time.Hour), func(string) {
			if !inside {
				inside = true
				q.Cancel(1)
			}
		}}})
		q.Add(1)
		claim := claimOne(t, q)
		require.NoError(t, end(claim))
		requireCounts(t, q, 0, 0, 0)
		require.Zero(t, q.NumRequeues(1))
	}
}
