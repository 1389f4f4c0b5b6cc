package contract

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// scriptedLimiter returns given delays, by item, and records its calls.
type scriptedLimiter struct {
	mu     sync.Mutex
	delays map[string]time.Duration
	calls  []string
}

func (l *scriptedLimiter) record(call, item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call+" "+item)
}

func (l *scriptedLimiter) When(item string) time.Duration {
	l.record("When", item)
	return l.delays[item]
}

func (l *scriptedLimiter) Forget(item string) { l.record("Forget", item) }

func (l *scriptedLimiter) NumRequeues(item string) int {
	l.record("NumRequeues", item)
	return len(item)
}

func TestC28AddRateLimitedIsAddAfterWhen(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		limiter := &scriptedLimiter{delays: map[string]time.Duration{
			"now": 0, "past": -time.Hour, "soon": 10 * time.Millisecond, "later": time.Second, "never": math.MaxInt64,
		}}
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: line.clock, RateLimiter: limiter})
		for item := range limiter.delays {
			q.AddRateLimited(item)
		}
		require.Len(t, limiter.calls, 5, "When is asked once for each")
		requireExactly(t, []string{"now", "past"}, finishAll(t, q))
		line.pass(9 * time.Millisecond)
		require.Zero(t, q.Len())
		line.pass(2 * time.Millisecond)
		requireExactly(t, []string{"soon"}, finishAll(t, q))
		line.pass(time.Second)
		requireExactly(t, []string{"later"}, finishAll(t, q))
		requireCounts(t, q, 0, 1, 0)
		q.ShutDown()
	})
}

// The rule of AddAfter holds: the earliest deadline counts.
func TestC28EarliestDelayWins(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		limiter := &scriptedLimiter{delays: map[string]time.Duration{"a": time.Second}}
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: line.clock, RateLimiter: limiter})
		q.AddRateLimited("a")
		q.AddAfter("a", time.Minute)
		limiter.delays["a"] = time.Hour
		q.AddRateLimited("a")
		line.pass(time.Second + time.Millisecond)
		takeItem(t, q, "a")
		q.Done("a")
		line.pass(2 * time.Hour)
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC28ForgetClearsTheLimiterAlone(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		limiter := &scriptedLimiter{delays: map[string]time.Duration{"delayed": time.Hour}}
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: newFake(), RateLimiter: limiter})
		q.Add("processing")
		takeItem(t, q, "processing")
		q.Add("ready")
		q.AddRateLimited("delayed")
		limiter.calls = nil
		for _, item := range []string{"processing", "ready", "delayed", "unknown"} {
			q.Forget(item)
		}
		require.Equal(t, []string{"Forget processing", "Forget ready", "Forget delayed", "Forget unknown"}, limiter.calls)
		requireCounts(t, q, 1, 1, 1)
		q.Done("processing")
		require.Zero(t, q.Stats().Misused, "Done was still owed")
	})
}

func TestC28NumRequeuesIsTheLimiters(t *testing.T) {
	limiter := &scriptedLimiter{}
	q := shardq.MustNew(shardq.Options[string]{RateLimiter: limiter})
	require.Equal(t, 4, q.NumRequeues("four"))
	require.Equal(t, []string{"NumRequeues four"}, limiter.calls)
}

// The limiter of a queue without options starts at 5 ms and doubles with each
// requeue of the item, up to 1000 s, as in client-go.
func TestC28DefaultLimiter(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		delay := 5 * time.Millisecond
		for requeues := range 30 {
			require.Equal(t, requeues, q.NumRequeues("a"))
			q.AddRateLimited("a")
			line.pass(delay - 1)
			require.Zero(t, q.Len(), "%v is early for %v", delay-1, delay)
			line.pass(time.Millisecond + 1)
			takeItem(t, q, "a")
			q.Done("a")
			delay = min(2*delay, 1000*time.Second)
		}
		q.Forget("a")
		require.Zero(t, q.NumRequeues("a"))
		q.AddRateLimited("a")
		line.pass(6 * time.Millisecond)
		takeItem(t, q, "a")
	})
}

// Different items, and different queues, have histories of their own.
func TestC28DefaultLimiterIsPerItemAndQueue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q, other := newQueue[string](shards), newQueue[string](shards)
		for range 3 {
			q.AddRateLimited("a")
		}
		q.AddRateLimited("b")
		require.Equal(t, 3, q.NumRequeues("a"))
		require.Equal(t, 1, q.NumRequeues("b"))
		require.Zero(t, other.NumRequeues("a"))
		q.Forget("a")
		require.Zero(t, q.NumRequeues("a"))
		require.Equal(t, 1, q.NumRequeues("b"))
		q.ShutDown()
	})
}
