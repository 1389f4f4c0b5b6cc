package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestC38PolicyChoosesTheDeadline(t *testing.T) {
	const early, late = time.Minute, time.Hour
	for _, test := range []struct {
		name          string
		policy        shardq.DelayPolicy
		filed, given  time.Duration
		ready, absent time.Duration // when it is ready, and not yet
	}{
		{"earliest, of a later one", shardq.KeepEarliest, early, late, early, early - 1},
		{"earliest, of an earlier one", shardq.KeepEarliest, late, early, early, early - 1},
		{"latest, of a later one", shardq.KeepLatest, early, late, late, late - 1},
		{"latest, of an earlier one", shardq.KeepLatest, late, early, late, late - 1},
		{"new, later", shardq.KeepNew, early, late, late, late - 1},
		{"new, earlier", shardq.KeepNew, late, early, early, early - 1},
		{"old, of a later one", shardq.KeepOld, early, late, early, early - 1},
		{"old, of an earlier one", shardq.KeepOld, late, early, late, late - 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			forEachClock(t, func(t *testing.T, shards int, line timeline) {
				q := newQueueOn[string](shards, line)
				q.AddAfter("a", test.filed)
				q.AddWith("a", shardq.AddOptions{After: test.given, Policy: test.policy})
				line.pass(test.absent)
				requireCounts(t, q, 0, 1, 0)
				line.pass(test.ready - test.absent)
				requireCounts(t, q, 1, 0, 0)
				q.ShutDown()
			})
		})
	}
}

// Without a delay, an item that is not delayed is added. For a delayed one the
// policy decides.
func TestC38PolicyWithoutADelay(t *testing.T) {
	for _, test := range []struct {
		name           string
		policy         shardq.DelayPolicy
		ready, waiting int // of a delayed item
	}{
		{"earliest", shardq.KeepEarliest, 1, 1},
		{"latest", shardq.KeepLatest, 0, 1},
		{"new", shardq.KeepNew, 1, 0},
		{"old", shardq.KeepOld, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			forEachShardCount(t, func(t *testing.T, shards int) {
				for _, after := range []time.Duration{0, -1, -time.Hour} {
					q := newQueueOn[string](shards, fakeTimeline())
					o := shardq.AddOptions{After: after, Policy: test.policy}
					q.AddWith("fresh", o)
					requireCounts(t, q, 1, 0, 0)
					q.Cancel("fresh")
					q.AddAfter("a", time.Hour)
					q.AddWith("a", o)
					requireCounts(t, q, test.ready, test.waiting, 0)
					require.Zero(t, q.Stats().Expired, "no delay has ended")
				}
			})
		})
	}
}

// An item that is added again and again is ready when there was no add for a
// while, and MaxWait after the first add at the latest.
func TestC38DebounceWithinALimit(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		quiet := shardq.AddOptions{After: time.Second, Policy: shardq.KeepLatest}
		for range 100 {
			q.AddWith("a", quiet)
			line.pass(time.Second / 2)
			requireCounts(t, q, 0, 1, 0)
		}
		line.pass(time.Second / 2)
		requireCounts(t, q, 1, 0, 0)
		q.Cancel("a")

		bounded := quiet
		bounded.MaxWait = 3 * time.Second
		for range 5 {
			q.AddWith("a", bounded)
			line.pass(time.Second / 2)
			requireCounts(t, q, 0, 1, 0)
		}
		q.AddWith("a", bounded)
		line.pass(time.Second / 2)
		requireCounts(t, q, 1, 0, 0)
		q.Cancel("a")

		q.AddWith("a", bounded) // the next delay has a limit of its own
		line.pass(time.Second - 1)
		requireCounts(t, q, 0, 1, 0)
		q.ShutDown()
	})
}

// The limit holds for all later adds, whatever their policies.
func TestC38LimitHoldsForOtherPolicies(t *testing.T) {
	for _, policy := range []shardq.DelayPolicy{shardq.KeepLatest, shardq.KeepNew} {
		line := fakeTimeline()
		q := newQueueOn[string](2, line)
		q.AddWith("a", shardq.AddOptions{After: time.Minute, MaxWait: 2 * time.Minute})
		q.AddWith("a", shardq.AddOptions{After: time.Hour, Policy: policy})
		line.pass(2*time.Minute - 1)
		requireCounts(t, q, 0, 1, 0)
		line.pass(1)
		requireCounts(t, q, 1, 0, 0)
	}
}

func TestC38RateLimitedAndAfter(t *testing.T) {
	line := fakeTimeline()
	q := newQueueOn[string](2, line)
	o := shardq.AddOptions{RateLimited: true, After: 8 * time.Millisecond}
	for _, want := range []time.Duration{8, 10, 20} { // the limiter returns 5, 10, 20
		q.AddWith("a", o)
		line.pass(want*time.Millisecond - 1)
		requireCounts(t, q, 0, 1, 0)
		line.pass(1)
		requireCounts(t, q, 1, 0, 0)
		q.Cancel("a")
	}
	require.Equal(t, 3, q.NumRequeues("a"))
}

func TestC38UnknownPolicyPanics(t *testing.T) {
	q := newQueue[string](2)
	require.PanicsWithValue(t,
		"shardq: AddOptions.Policy is 4: want KeepEarliest, KeepLatest, KeepNew or KeepOld",
		func() { q.AddWith("a", shardq.AddOptions{Policy: 4}) })
	requireCounts(t, q, 0, 0, 0)
}
