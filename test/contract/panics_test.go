package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

type injectedLimiter[T comparable] struct {
	limiter.Limiter[T]
	injector *faultInjector
}

func (l injectedLimiter[T]) When(item T) time.Duration {
	l.injector.step("When")
	return l.Limiter.When(item)
}

func (l injectedLimiter[T]) Forget(item T) { l.injector.step("Forget"); l.Limiter.Forget(item) }

func (l injectedLimiter[T]) NumRequeues(item T) int {
	l.injector.step("NumRequeues")
	return l.Limiter.NumRequeues(item)
}

type injectedHandler struct {
	slog.Handler
	injector *faultInjector
}

func (h injectedHandler) Handle(ctx context.Context, r slog.Record) error {
	h.injector.step("Logger")
	return h.Handler.Handle(ctx, r)
}

// functionsOfAQueue are the user's functions in a queue's options.
var functionsOfAQueue = []string{
	"Hash", "Group", "GroupWeight", "Now", "AfterFunc", "Reset", "Stop", "When", "Forget", "NumRequeues",
	"Logger", "OnWatermark", "OnMisuse",
}

// injectedOptions have every function except OnStuck, which the queue calls in
// a goroutine of its own.
func injectedOptions[T comparable](w *faultInjector, groups bool, fake *clock.Fake) shardq.Options[T] {
	o := shardq.Options[T]{
		Shards: 4, Clock: injectedClock{fake, w}, Metrics: true, LowPriorityInterval: 3,
		RateLimiter:   injectedLimiter[T]{limiter.NewExponential[T](10*time.Millisecond, 20*time.Millisecond), w},
		HighWatermark: 3, LowWatermark: 1, OnWatermark: func(shardq.Watermark) { w.step("OnWatermark") },
		OnMisuse: func(shardq.Misuse[T]) { w.step("OnMisuse") },
		Logger:   slog.New(injectedHandler{slog.NewTextHandler(io.Discard, nil), w}),
	}
	if groups {
		o.Group = func(item T) string { w.step("Group"); return fmt.Sprint(item)[:1] }
		o.GroupWeight = func(string) int { w.step("GroupWeight"); return 2 }
		o.GroupLimit = 100
	} else {
		o.Hash = func(item T) uint64 { w.step("Hash"); return uint64(fmt.Sprint(item)[0]) }
	}
	return o
}

// forEachCall plays a program once for each call of each function in it.
func forEachCall(t *testing.T, functions []string, play func(t *testing.T, w *faultInjector, groups bool)) {
	t.Helper()
	never := map[string]bool{}
	for _, function := range functions {
		calls := 0
		for _, groups := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,groups=%v", function, groups), func(t *testing.T) {
				count := &faultInjector{function: function}
				synctest.Test(t, func(t *testing.T) { play(t, count, groups) })
				calls += count.calls
				for k := 1; k <= count.calls && !t.Failed(); k++ {
					synctest.Test(t, func(t *testing.T) {
						defer func() {
							if t.Failed() {
								t.Logf("call %d of %s", k, function)
							}
						}()
						play(t, &faultInjector{function: function, at: k}, groups)
					})
				}
			})
		}
		never[function] = calls == 0
	}
	maps.DeleteFunc(never, func(_ string, never bool) bool { return !never })
	require.Empty(t, never, "the program does not call these")
}

// A queuePlay is a running program on a queue, and what its caller knows.
type queuePlay struct {
	*faultInjector
	t     *testing.T
	queue *shardq.Queue[float64]
	fake  *clock.Fake
	held  []float64
	// asked counts the adds of an item, and taken its Gets. owed says that
	// there was no Get since the last add.
	asked, taken map[float64]int
	owed         map[float64]bool
}

// add adds an item, and once more if a panic says that it was not added.
func (p *queuePlay) add(item float64, add func(item float64)) {
	p.retry(func() {
		p.asked[item]++
		p.owed[item] = true
		add(item)
	})
	p.check()
}

// check checks that the items in processing are those that the caller has.
func (p *queuePlay) check() {
	p.t.Helper()
	p.disabled(func() {
		var processing []float64
		for info := range p.queue.All(stats.Processing) {
			processing = append(processing, info.Item)
		}
		require.ElementsMatch(p.t, p.held, processing)
	})
}

func (p *queuePlay) take(get func() []float64) {
	for left := 2; left > 0 && p.ready() > 0; left-- {
		var items []float64
		p.panics(func() { items = get() })
		for _, item := range items {
			p.taken[item]++
			delete(p.owed, item)
		}
		p.held = append(p.held, items...)
		p.check()
	}
}

func (p *queuePlay) ready() (n int) {
	p.disabled(func() { n = p.queue.Len() })
	return n
}

// done ends the held items, by a call that is repeated for those that it has
// left.
func (p *queuePlay) done(items []float64, done func([]float64)) {
	left := slices.Clone(items)
	p.retry(func() {
		p.disabled(func() {
			left = slices.DeleteFunc(left, func(item float64) bool { return !p.isProcessing(item) })
		})
		done(left)
	})
	p.held = slices.DeleteFunc(p.held, func(item float64) bool { return slices.Contains(items, item) })
	p.check()
}

func (p *queuePlay) isProcessing(item float64) bool {
	for info := range p.queue.All(stats.Processing) {
		if info.Item == item {
			return true
		}
	}
	return false
}

func (p *queuePlay) pass(d time.Duration) {
	p.panics(func() { p.fake.Step(d) })
	p.panics(func() { p.fake.Step(0) })
	synctest.Wait()
	p.check()
}

func playQueue(t *testing.T, w *faultInjector, groups bool) {
	p := &queuePlay{
		faultInjector: w, t: t, fake: newFake(),
		asked: map[float64]int{}, taken: map[float64]int{}, owed: map[float64]bool{},
	}
	w.disabled(func() {
		o := injectedOptions[float64](w, groups, p.fake)
		o.Capacity = 12
		p.queue = shardq.MustNew(o)
	})
	q, ctx := p.queue, t.Context()
	get := func() []float64 { item, _ := q.Get(); return []float64{item} }
	p.add(1, q.Add)
	p.add(2, q.Add)
	p.add(10, func(item float64) { q.AddWith(item, shardq.AddOptions{Priority: 3}) })
	p.add(11, func(item float64) { require.NoError(t, q.TryAdd(item)) })
	p.add(20, func(item float64) { require.NoError(t, q.AddContext(ctx, item)) })
	p.add(21, func(item float64) { q.AddAfter(item, 5*time.Millisecond) })
	p.add(30, q.AddRateLimited)
	p.add(31, func(item float64) { q.AddWith(item, shardq.AddOptions{RateLimited: true, After: time.Millisecond}) })
	p.panics(func() { q.Add(math.NaN()) })
	p.take(get)
	p.take(func() []float64 { item, err := q.GetContext(ctx); require.NoError(t, err); return []float64{item} })
	p.take(func() []float64 { item, _, _ := q.GetWithPriority(); return []float64{item} })
	p.add(p.held[0], q.Add)            // dirty
	p.add(p.held[1], q.AddRateLimited) // after its Done
	p.done(p.held[:1], func(items []float64) {
		for _, item := range items {
			q.Done(item)
		}
	})
	p.panics(func() { q.Done(99) })
	p.done(p.held, q.DoneBatch)
	p.pass(30 * time.Millisecond)
	p.retry(func() { q.AddBatch([]float64{40, 41, 50, 51}) })
	for _, item := range []float64{40, 41, 50, 51} {
		p.asked[item]++
		p.owed[item] = true
	}
	dst := make([]float64, 5)
	batch := func() []float64 { n, err := q.GetBatch(ctx, dst); require.NoError(t, err); return dst[:n:n] }
	p.take(batch)
	p.retry(func() { q.Forget(1) })
	p.retry(func() { q.NumRequeues(1) })
	p.retry(func() { q.Stats() })
	p.retry(func() { q.Snapshot(10) })
	p.done(p.held, q.DoneBatch)
	p.add(60, q.Add)
	p.retry(func() { q.Cancel(60) })
	delete(p.owed, 60)
	p.loopOnce()
	p.fill()
	for p.ready() > 0 {
		p.take(batch)
		p.done(p.held, q.DoneBatch)
	}
	p.add(61, func(item float64) { q.AddAfter(item, time.Millisecond) })
	p.end(batch)
}

// loopOnce takes a turn of the loop over Items, which calls Done itself.
func (p *queuePlay) loopOnce() {
	p.add(62, p.queue.Add)
	for left := 2; left > 0 && p.ready() > 0; left-- {
		p.panics(func() {
			for item := range p.queue.Items(p.t.Context()) {
				p.taken[item]++
				delete(p.owed, item)
				p.held = []float64{item}
				p.check()
				break
			}
		})
		p.held = nil
		p.check()
	}
}

// fill makes a caller wait for capacity, and admits it.
func (p *queuePlay) fill() {
	for item := 70.0; ; item++ {
		var full bool
		p.disabled(func() { full = errors.Is(p.queue.TryAdd(item), shardq.ErrFull) })
		if full {
			break
		}
		p.asked[item]++
		p.owed[item] = true
	}
	over := returned(func() {
		p.retry(func() {
			p.asked[80]++
			p.owed[80] = true
			require.NoError(p.t, p.queue.AddContext(p.t.Context(), 80))
		})
	})
	synctest.Wait()
	for !over() && p.ready() > 0 {
		p.take(func() []float64 { item, _ := p.queue.Get(); return []float64{item} })
		p.done(p.held, p.queue.DoneBatch)
		synctest.Wait()
	}
	require.True(p.t, over(), "there is capacity, and no waiter is admitted")
}

// end drains the queue, and checks the counts.
func (p *queuePlay) end(batch func() []float64) {
	begun, cancel := context.WithCancel(p.t.Context())
	cancel()
	for left := 2; left > 0; left-- {
		p.panics(func() { _, _ = p.queue.Drain(begun, shardq.DrainOptions{Delayed: shardq.RunDelayed}) })
	}
	for p.ready() > 0 {
		p.take(batch)
		p.done(p.held, p.queue.DoneBatch)
	}
	p.retry(func() {
		_, err := p.queue.Drain(p.t.Context(), shardq.DrainOptions{})
		require.NoError(p.t, err)
	})
	p.panics(p.queue.ShutDown)
	p.disabled(func() {
		require.Zero(p.t, p.queue.Stats().Held)
		requireGetSaysShutdown(p.t, p.queue)
	})
	require.Empty(p.t, p.owed, "these are lost")
	for item, n := range p.taken {
		require.LessOrEqual(p.t, n, p.asked[item], "%v was handed out more often than it was added", item)
	}
}

func TestC17H17EveryCallMayPanic(t *testing.T) {
	forEachCall(t, functionsOfAQueue, playQueue)
}
