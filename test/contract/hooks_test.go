package contract

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// userCode is called at the begin of each function of the user, with its name.
type userCode func(function string)

type hookedClock struct {
	clock.Clock
	call userCode
}

func (c hookedClock) Step(d time.Duration) { c.Clock.(*clock.Fake).Step(d) } // so that no Drain returns early (C42)
func (c hookedClock) Now() time.Time       { c.call("Now"); return c.Clock.Now() }
func (c hookedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.call("AfterFunc")
	return hookedTimer{c.Clock.AfterFunc(d, func() { c.call("timer"); f() }), c.call}
}

type hookedTimer struct {
	clock.Timer
	call userCode
}

func (t hookedTimer) Reset(d time.Duration) bool { t.call("Reset"); return t.Timer.Reset(d) }
func (t hookedTimer) Stop() bool                 { t.call("Stop"); return t.Timer.Stop() }

type hookedLimiter[T comparable] struct {
	limiter.Limiter[T]
	call userCode
}

func (l hookedLimiter[T]) When(item T) time.Duration { l.call("When"); return l.Limiter.When(item) }
func (l hookedLimiter[T]) Forget(item T)             { l.call("Forget"); l.Limiter.Forget(item) }
func (l hookedLimiter[T]) NumRequeues(item T) (n int) {
	l.call("NumRequeues")
	return l.Limiter.NumRequeues(item)
}

type hookedHandler struct {
	slog.Handler
	call userCode
}

func (h hookedHandler) Enabled(context.Context, slog.Level) bool { h.call("Enabled"); return true }
func (h hookedHandler) Handle(ctx context.Context, r slog.Record) error {
	h.call("Logger")
	return h.Handler.Handle(ctx, r)
}

// userFunctions are the functions of hookedOptions. OnStuck is not among them,
// because the queue calls it in a goroutine of its own.
var userFunctions = []string{
	"Hash", "Group", "GroupPolicy", "Now", "AfterFunc", "Reset", "Stop", "When", "Forget", "NumRequeues",
	"Enabled", "Logger", "OnWatermark", "OnMisuse",
}

func hookedOptions(call userCode, groups bool, c clock.Clock) shardq.Options[int] {
	o := shardq.Options[int]{
		Shards: 4, Clock: hookedClock{c, call}, Metrics: true, LowPriorityInterval: 3, Capacity: 12,
		RateLimiter: hookedLimiter[int]{limiter.NewExponential[int](10*time.Millisecond, 20*time.Millisecond), call},
		Watermarks:  shardq.Watermarks{High: 3, Low: 1, On: func(shardq.Watermark) { call("OnWatermark") }},
		OnMisuse:    func(shardq.Misuse[int]) { call("OnMisuse") },
		Logger:      slog.New(hookedHandler{slog.NewTextHandler(io.Discard, nil), call}),
	}
	if groups {
		o.Group = func(item int) string { call("Group"); return fmt.Sprint(item)[:1] }
		o.GroupPolicy = func(string) shardq.GroupPolicy {
			call("GroupPolicy")
			return shardq.GroupPolicy{Weight: 2, Limit: 100, Rate: shardq.Rate{PerSecond: 1e6, Burst: 100}}
		}
	} else {
		o.Hash = func(item int) uint64 { call("Hash"); return uint64(fmt.Sprint(item)[0]) }
	}
	return o
}

// useEverything calls every method that does not end the queue.
func useEverything(q *shardq.Queue[int]) {
	q.Add(10)
	q.AddAfter(11, time.Second)
	q.AddWith(12, shardq.AddOptions{Priority: 2, NotAgainWithin: time.Second})
	q.AddBatch([]int{20, 30}, shardq.AddOptions{})
	_ = q.TryAdd(31, shardq.AddOptions{})
	q.AddRateLimited(13)
	q.Forget(13)
	q.NumRequeues(13)
	q.Cancel(11)
	q.Done(-2)
	if claim, ok := q.TryClaim(); ok {
		_ = claim.Retry()
	}
	q.Stats()
	q.Snapshot(3)
	for range q.All(stats.Ready) {
		q.Add(10)
	}
	q.SetRate(shardq.Rate{})
	q.Resume()
}

// User code may call the queue that calls it, also from within the end of the
// queue. If a lock were held, or the end awaited, it would deadlock.
func TestC17UserCodeMayUseTheQueue(t *testing.T) {
	for name, end := range map[string]func(q *shardq.Queue[int]){
		"ShutDown":          (*shardq.Queue[int]).ShutDown,
		"ShutDownWithDrain": (*shardq.Queue[int]).ShutDownWithDrain,
		"Drain":             func(q *shardq.Queue[int]) { _, _ = q.Drain(t.Context(), shardq.DrainOptions{}) },
	} {
		for _, groups := range []bool{false, true} {
			var q *shardq.Queue[int]
			called, depth, use := map[string]bool{}, 0, useEverything
			fake := newFake()
			q = shardq.MustNew(hookedOptions(func(function string) {
				called[function] = true
				if depth++; depth == 1 && q != nil { // not forever
					use(q)
				}
				depth--
			}, groups, fake))
			for range 20 {
				useEverything(q)
				fake.Step(time.Hour)
				if claim, ok := q.TryClaim(); ok {
					_ = claim.Done()
				}
			}
			q.Done(-1)
			q.AddAfter(4, time.Second)
			fake.Step(time.Hour)
			require.GreaterOrEqual(t, len(called), len(userFunctions)-2, "%v", called)
			depth = 1
			finishAll(t, q)
			for item := range 4 { // the high watermark, and the end passes the low one
				q.AddAfter(item, time.Hour)
			}
			use = func(q *shardq.Queue[int]) { // adds nothing, for which the end would wait
				q.SetRate(shardq.Rate{})
				q.Snapshot(3)
			}
			clear(called)
			depth = 0
			end(q)
			depth = 1
			require.True(t, called["OnWatermark"] && called["Logger"], "%s: %v", name, called)
			requireShutsDown(t, q)
		}
	}
}

// A shutdown from within user code: of each function but the clock's, which
// ShutDown waits for.
func TestC17UserCodeMayShutDown(t *testing.T) {
	for _, function := range []string{"Hash", "Group", "GroupPolicy", "When", "Forget", "NumRequeues", "Logger", "OnWatermark", "OnMisuse"} {
		for _, groups := range []bool{false, true} {
			var q *shardq.Queue[int]
			q = shardq.MustNew(hookedOptions(func(called string) {
				if called == function && q != nil {
					q.ShutDown()
				}
			}, groups, newFake()))
			useEverything(q)
			for claim, ok := q.TryClaim(); ok; claim, ok = q.TryClaim() {
				_ = claim.Done()
			}
			q.ShutDown()
			require.Zero(t, q.Stats().Held, function)
		}
	}
}

// The timer is set once for each deadline, and nothing polls: neither delays,
// nor the rate of the queue, nor those of groups.
func TestC25OneWakeUpPerDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deadlines = 20
		for name, use := range map[string]func(q *shardq.Queue[int]){
			"delays": func(q *shardq.Queue[int]) {
				for item := range deadlines {
					q.AddAfter(item, time.Duration(item+1)*time.Second)
				}
			},
			"a rate": func(q *shardq.Queue[int]) {
				q.SetRate(shardq.Rate{PerSecond: 1})
				addAll(q, numbers(deadlines+1))
			},
		} {
			var mu sync.Mutex // consumers read the clock, too
			calls := map[string]int{}
			count := func(function string) {
				mu.Lock()
				defer mu.Unlock()
				calls[function]++
			}
			fake := newFake()
			q := shardq.MustNew(shardq.Options[int]{Shards: 2, Clock: hookedClock{fake, count}})
			use(q)
			served := 0
			over := returned(func() {
				for range q.Items(t.Context()) {
					served++
				}
			})
			synctest.Wait()
			for second := range deadlines {
				before := served
				fake.Step(999 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, second, calls["timer"], name)
				require.Equal(t, before, served, name)
				fake.Step(time.Millisecond)
				synctest.Wait()
				require.Equal(t, before+1, served, name)
			}
			require.Equal(t, deadlines, calls["timer"], name)
			require.LessOrEqual(t, calls["Reset"]+calls["AfterFunc"], 2*deadlines, name)
			q.ShutDown()
			synctest.Wait()
			require.True(t, over())
		}
	})
}
