package shardq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// The times of first failures are given back with the histories of the limiter,
// also if these expire and their items never come again.
func TestFirstFailuresAreBounded(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	q := MustNew(Options[int]{
		Clock:       fake,
		RateLimiter: limiter.NewExponential[int](time.Second, time.Second, limiter.Options{Clock: fake, ForgetAfter: time.Hour}),
	})
	for item := range 10_000 {
		q.backoff(item)
		q.keepFirst(item, time.Time{})
		q.keepFirst(item, fake.Now())
		first, now := q.claims().FailingSince(item)
		require.Equal(t, fake.Now(), first, "the last that was reported")
		require.Equal(t, fake.Now(), now)
		if item%10 == 0 {
			fake.Step(time.Hour)
		}
		require.LessOrEqual(t, q.firsts.kept.Load(), int64(200))
	}
	for item := range 10_000 {
		q.Forget(item)
	}
	require.Zero(t, q.firsts.kept.Load())
	for range q.firsts.at.Range {
		t.Fatal("an entry is left")
	}
}
