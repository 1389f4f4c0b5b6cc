package shard

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/stats"
)

// TestMain scales the models, and fails the tests if one of them leaves a
// goroutine behind.
func TestMain(m *testing.M) {
	testscale.Rapid(100)
	goleak.VerifyTestMain(m)
}

// start is the time at which the clocks of the tests begin.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newTestSet returns a set with defaults for what config leaves out: one shard,
// a millisecond, and a clock that stands still.
func newTestSet[T comparable](t tester, config Config[T]) *Set[T] {
	if config.Shards == 0 {
		config.Shards = 1
	}
	if config.Tick == 0 {
		config.Tick = time.Millisecond
	}
	if config.Clock == nil {
		config.Clock = clock.NewFake(start)
	}
	return New(config)
}

// counts returns the stats without the fields that are looked up or measured.
func counts(st Stats) Stats {
	st.PerShard, st.Metrics, st.NextDue, st.Parked, st.ShuttingDown = nil, nil, time.Time{}, 0, false
	st.Priorities = nil
	return st
}

type (
	Stats  = stats.Stats
	Misuse = stats.MisuseKind
)

// GetBatch, GetWithPriority and Drain are for tests.
func (s *Set[T]) GetBatch(ctx context.Context, dst []T) (n int, err error) {
	return s.TakeBatch(ctx, dst, nil, nil)
}

// limited returns a policy with a limit for all groups.
func limited(limit int) func(string) stats.GroupPolicy {
	return func(string) stats.GroupPolicy { return stats.GroupPolicy{Limit: limit} }
}

func (s *Set[T]) Drain(ctx context.Context, w DelayedPolicy) (dropped []T, err error) {
	err = s.DrainUntil(ctx, Draining{Delayed: w}, s.Core.Released(), &dropped)
	return dropped, err
}
