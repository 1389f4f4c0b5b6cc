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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Each function of the user panics at each of its calls, one after the other. A
// program is played once to count the calls of a function, and then once for
// each of them. The caller recovers the panic, goes on, and counts at the end:
// nothing is lost, doubled, or left in processing, and no lock is held.

// A faultInjector panics at one call of one function.
type faultInjector struct {
	mu       sync.Mutex
	function string
	at       int // 0 is never
	calls    int
	off      bool
}

var errInjected = errors.New("injected")

func (w *faultInjector) step(function string) {
	w.mu.Lock()
	panics := false
	if !w.off && function == w.function {
		w.calls++
		panics = w.calls == w.at
	}
	w.mu.Unlock()
	if panics {
		panic(errInjected)
	}
}

// disabled runs do without counting calls.
func (w *faultInjector) disabled(do func()) {
	w.turn(true)
	defer w.turn(false)
	do()
}

func (w *faultInjector) turn(off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = off
}

// panics runs do, and reports whether the injected panic occurred. Other panics
// pass.
func (w *faultInjector) panics(do func()) (panicked bool) {
	defer func() {
		if r := recover(); r != nil {
			fault, _ := r.(error)
			if panicked = errors.Is(fault, errInjected); !panicked {
				panic(r)
			}
		}
	}()
	do()
	return false
}

// retry runs do until it does not panic, which is the second time at the
// latest.
func (w *faultInjector) retry(do func()) {
	if w.panics(do) {
		do()
	}
}

type injectedClock struct {
	*clock.Fake
	injector *faultInjector
}

func (c injectedClock) Now() time.Time { c.injector.step("Now"); return c.Fake.Now() }
func (c injectedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.injector.step("AfterFunc")
	return injectedTimer{c.Fake.AfterFunc(d, f), c.injector}
}

type injectedTimer struct {
	clock.Timer
	injector *faultInjector
}

func (t injectedTimer) Reset(d time.Duration) bool { t.injector.step("Reset"); return t.Timer.Reset(d) }
func (t injectedTimer) Stop() bool                 { t.injector.step("Stop"); return t.Timer.Stop() }

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
	"Hash", "Group", "GroupPolicy", "Now", "AfterFunc", "Reset", "Stop", "When", "Forget", "NumRequeues",
	"Logger", "OnWatermark", "OnMisuse",
}

// injectedOptions have every function except OnStuck, which the queue calls in
// a goroutine of its own.
func injectedOptions[T comparable](w *faultInjector, groups bool, fake *clock.Fake) shardq.Options[T] {
	o := shardq.Options[T]{
		Shards: 4, Clock: injectedClock{fake, w}, Metrics: true, LowPriorityInterval: 3,
		RateLimiter: injectedLimiter[T]{limiter.NewExponential[T](10*time.Millisecond, 20*time.Millisecond), w},
		Watermarks:  shardq.Watermarks{High: 3, Low: 1, On: func(shardq.Watermark) { w.step("OnWatermark") }},
		OnMisuse:    func(shardq.Misuse[T]) { w.step("OnMisuse") },
		Logger:      slog.New(injectedHandler{slog.NewTextHandler(io.Discard, nil), w}),
	}
	if groups {
		o.Group = func(item T) string { w.step("Group"); return fmt.Sprint(item)[:1] }
		o.GroupPolicy = func(string) shardq.GroupPolicy {
			w.step("GroupPolicy")
			return shardq.GroupPolicy{Weight: 2, Limit: 100}
		}
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
	p.add(11, func(item float64) { require.NoError(t, q.TryAdd(item, shardq.AddOptions{})) })
	p.add(20, func(item float64) { require.NoError(t, q.AddContext(ctx, item, shardq.AddOptions{})) })
	p.add(21, func(item float64) { q.AddAfter(item, 5*time.Millisecond) })
	p.add(30, q.AddRateLimited)
	p.add(31, func(item float64) { q.AddWith(item, shardq.AddOptions{RateLimited: true, After: time.Millisecond}) })
	p.panics(func() { q.Add(math.NaN()) })
	p.take(get)
	p.take(func() []float64 { item, err := q.GetContext(ctx); require.NoError(t, err); return []float64{item} })
	p.take(func() []float64 { item, _, _ := getWithPriority(q); return []float64{item} })
	p.add(p.held[0], q.Add)            // dirty
	p.add(p.held[1], q.AddRateLimited) // after its Done
	p.done(p.held[:1], func(items []float64) {
		for _, item := range items {
			q.Done(item)
		}
	})
	p.panics(func() { q.Done(99) })
	p.done(p.held, func(items []float64) { doneBatch(q, items) })
	p.pass(30 * time.Millisecond)
	p.retry(func() { q.AddBatch([]float64{40, 41, 50, 51}, shardq.AddOptions{}) })
	for _, item := range []float64{40, 41, 50, 51} {
		p.asked[item]++
		p.owed[item] = true
	}
	dst := make([]float64, 5)
	batch := func() []float64 { n, err := getBatch(q, ctx, dst); require.NoError(t, err); return dst[:n:n] }
	p.take(batch)
	p.retry(func() { q.Forget(1) })
	p.retry(func() { q.NumRequeues(1) })
	p.retry(func() { q.Stats() })
	p.retry(func() { q.Snapshot(10) })
	p.done(p.held, func(items []float64) { doneBatch(q, items) })
	p.add(60, q.Add)
	p.retry(func() { q.Cancel(60) })
	delete(p.owed, 60)
	p.loopOnce()
	p.fill()
	for p.ready() > 0 {
		p.take(batch)
		p.done(p.held, func(items []float64) { doneBatch(q, items) })
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
		p.disabled(func() { full = errors.Is(p.queue.TryAdd(item, shardq.AddOptions{}), shardq.ErrFull) })
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
			require.NoError(p.t, p.queue.AddContext(p.t.Context(), 80, shardq.AddOptions{}))
		})
	})
	synctest.Wait()
	for !over() && p.ready() > 0 {
		p.take(func() []float64 { item, _ := p.queue.Get(); return []float64{item} })
		p.done(p.held, func(items []float64) { doneBatch(p.queue, items) })
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
		p.done(p.held, func(items []float64) { doneBatch(p.queue, items) })
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

// A coalescerPlay is a running program on a coalescer, and what its caller
// knows.
type coalescerPlay struct {
	*faultInjector
	t    *testing.T
	c    *numberTexts
	fake *clock.Fake
	held []numbersOfText
	last int
	slow chan struct{} // blocks the merge of the value slowOne
	// slowOne is the value whose Merge blocks.
	slowOne int
	// in are the accepted values, and came those that were handled.
	in, came []int
}

type (
	numberTexts   = coalesce.Coalescer[string, []int]
	numbersOfText = coalesce.Entry[string, []int]
)

// inBefore are the functions that are called after the value of a Put is
// accepted.
var inBefore = []string{"Now", "AfterFunc", "Reset", "Stop", "OnWatermark", "Logger"}

func (p *coalescerPlay) put(key string, put func(key string, value []int) error) {
	p.last++
	value, in := p.last, true
	if p.panics(func() { require.NoError(p.t, put(key, []int{value})) }) {
		in = slices.Contains(inBefore, p.function)
	}
	if in {
		p.in = append(p.in, value)
	}
}

func (p *coalescerPlay) processing() (keys []string) {
	p.disabled(func() {
		for info := range p.c.Queue().All(stats.Processing) {
			keys = append(keys, info.Item)
		}
	})
	return keys
}

// check checks that the keys in processing are those that the caller has.
func (p *coalescerPlay) check() {
	p.t.Helper()
	keys := []string{}
	for _, held := range p.held {
		keys = append(keys, held.Key)
	}
	require.ElementsMatch(p.t, keys, p.processing())
}

func (p *coalescerPlay) ready() (n int) {
	p.disabled(func() { n = p.c.Queue().Len() })
	return n
}

// take takes size keys at once, or a single one if size is 0.
func (p *coalescerPlay) take(size int) {
	for left := 2; left > 0 && p.ready() > 0; left-- {
		// A Take that finds no value blocks until there is one.
		ctx, cancel := context.WithCancel(p.t.Context())
		taken := make([]numbersOfText, max(1, size))
		n := 0
		over := returned(func() {
			p.panics(func() {
				var err error
				if size > 0 {
					n, err = p.c.TakeBatch(ctx, taken)
				} else if taken[0].Key, taken[0].Value, err = p.c.Take(ctx); err == nil {
					n = 1
				}
				if err != nil && !errors.Is(err, shardq.ErrShutDown) {
					require.ErrorIs(p.t, err, context.Canceled)
				}
			})
		})
		synctest.Wait()
		cancel()
		requireBecomesTrue(p.t, over)
		p.held = append(p.held, taken[:n]...)
		p.check()
	}
}

func (p *coalescerPlay) done(all []numbersOfText) {
	all = slices.Clone(all)
	left := all
	for len(left) > 0 {
		p.panics(func() {
			if len(left) == 1 {
				p.c.Done(left[0].Key)
			} else {
				p.c.DoneBatch(left)
			}
		})
		processing := p.processing()
		left = slices.DeleteFunc(slices.Clone(left), func(one numbersOfText) bool { return !slices.Contains(processing, one.Key) })
	}
	for _, one := range all {
		p.came = append(p.came, one.Value...)
		p.release(one)
	}
	p.check()
}

func (p *coalescerPlay) release(one numbersOfText) {
	p.held = slices.DeleteFunc(p.held, func(other numbersOfText) bool { return other.Key == one.Key })
}

// giveBack returns a value, and once more if a panic prevented that.
func (p *coalescerPlay) giveBack(one numbersOfText, back func(key string, value []int) error) {
	for slices.Contains(p.processing(), one.Key) {
		p.panics(func() { require.NoError(p.t, back(one.Key, one.Value)) })
	}
	p.release(one)
	p.check()
}

func (p *coalescerPlay) pass(d time.Duration) {
	p.panics(func() { p.fake.Step(d) })
	p.panics(func() { p.fake.Step(0) })
	synctest.Wait()
	p.check()
}

func newCoalescerPlay(t *testing.T, w *faultInjector, groups bool) *coalescerPlay {
	p := &coalescerPlay{faultInjector: w, t: t, fake: newFake(), slow: make(chan struct{})}
	w.disabled(func() {
		p.c = coalesce.MustNew(coalesce.Options[string, []int]{
			Queue:    injectedOptions[string](w, groups, p.fake),
			Capacity: 12, PutEndsBackoff: groups,
			Weight: func(v []int) int { w.step("Weight"); return len(v) },
			Merge: func(pending, next []int) []int {
				w.step("Merge")
				if next[0] == p.slowOne {
					<-p.slow
				}
				return slices.Concat(pending, next)
			},
		})
	})
	return p
}

func playCoalescerCalls(t *testing.T, w *faultInjector, groups bool) {
	p := newCoalescerPlay(t, w, groups)
	c, ctx := p.c, t.Context()
	wait := func(key string, value []int) error { return c.PutContext(ctx, key, value) }
	for _, key := range []string{"a", "b", "a", "c", "b", "d"} {
		p.put(key, c.Put)
	}
	p.put("a", c.TryPut)
	p.put("e", wait)
	p.take(0)
	p.take(2)
	p.take(9)
	for _, one := range p.held { // while they are in processing
		p.put(one.Key, c.Put)
		if one.Key > "b" {
			p.put(one.Key, c.Put)
		}
	}
	for i, one := range slices.Clone(p.held) {
		if i%2 == 0 {
			p.giveBack(one, c.PutBack) // two segments, which a Take merges
		} else {
			p.giveBack(one, c.Retry)
			p.put(one.Key, c.Put)
		}
	}
	p.take(4)
	p.done(p.held)
	p.pass(100 * time.Millisecond)
	p.take(9)
	p.done(p.held)

	// A Take finds a running merge of the key, and a later value.
	p.put("a", c.Put)
	p.slowOne = p.last + 1
	merging := returned(func() { p.put("a", c.Put) })
	synctest.Wait()
	p.put("a", c.Put)
	p.put("b", c.Put)
	p.put("c", c.Put)
	p.take(9)
	p.done(p.held)
	p.put("d", c.Put)
	close(p.slow)
	requireBecomesTrue(t, merging)
	p.take(0)

	// A caller waits for capacity, and is admitted.
	p.put("a", c.Put)
	for full := false; !full; {
		p.disabled(func() {
			p.last++
			if full = errors.Is(c.TryPut("b", []int{p.last}), shardq.ErrFull); !full {
				p.in = append(p.in, p.last)
			}
		})
	}
	waits := returned(func() { p.put("a", wait) })
	synctest.Wait()
	for !waits() && p.ready() > 0 {
		p.take(0)
		p.done(p.held)
		synctest.Wait()
	}
	require.True(t, waits(), "there is capacity, and no waiter is admitted")
	p.retry(func() { c.Stats() })
	p.retry(func() { c.Queue().Snapshot(10) })
	p.end(groups)
}

// end ends the coalescer, beside a value that is delayed for its retry, and
// checks the counts.
func (p *coalescerPlay) end(drain bool) {
	c := p.c
	p.put("f", c.Put)
	p.put("g", c.Put)
	for p.ready() > 0 {
		p.take(9)
		if len(p.held) > 0 {
			p.done(p.held[1:])
			p.giveBack(p.held[0], c.Retry)
		}
	}
	p.put("h", c.Put)
	if drain {
		begun, cancel := context.WithCancel(p.t.Context())
		cancel()
		for range 2 {
			p.panics(func() { _, _ = c.Drain(begun, shardq.DrainOptions{Delayed: shardq.RunDelayed}) })
		}
	} else {
		p.panics(c.ShutDown)
	}
	for p.ready() > 0 {
		p.take(9)
		p.done(p.held)
	}
	if !drain {
		p.disabled(func() {
			_, _, err := c.Take(p.t.Context())
			require.ErrorIs(p.t, err, shardq.ErrShutDown, "the ShutDown was not carried out")
		})
	}
	p.retry(func() {
		dropped, err := c.Drain(p.t.Context(), shardq.DrainOptions{})
		require.NoError(p.t, err)
		require.Empty(p.t, dropped, "no Take returned these")
	})
	p.disabled(func() {
		require.Zero(p.t, c.Len())
		require.Zero(p.t, c.Stats().Held)
		require.Zero(p.t, c.Stats().Values.Weight)
		require.Zero(p.t, c.Stats().Misused)
	})
	slices.Sort(p.in)
	slices.Sort(p.came)
	require.Equal(p.t, p.in, p.came)
}

func TestC17C54EveryCallMayPanic(t *testing.T) {
	functions := slices.DeleteFunc(slices.Clone(functionsOfAQueue), func(f string) bool { return f == "OnMisuse" })
	forEachCall(t, append(functions, "Merge", "Weight"), playCoalescerCalls)
}

// replies count the handler's calls for a value or an item, by its number.
type replies map[int]int

func (r replies) to(number int) error {
	switch r[number]++; {
	case number%5 == 1 && r[number] < 3:
		return errOnPurpose
	case number%5 == 2 && r[number] < 2:
		return worker.RequeueAfter(5 * time.Millisecond)
	case number%5 == 3:
		return worker.Permanent(errOnPurpose)
	case number%5 == 4 && r[number] < 9:
		return errOnPurpose // until the MaxAttempts
	}
	return nil
}

// injectedWorkers are the options of workers, in one form or the other.
func injectedWorkers[T any](w *faultInjector, batches bool, handle func(T) error, reported func(T)) worker.Options[T] {
	o := worker.Options[T]{
		Workers: 1, MaxAttempts: 4,
		OnError:   func(context.Context, worker.Failure[T]) { w.step("OnError") },
		OnDiscard: func(_ context.Context, f worker.Failure[T]) { reported(f.Item); w.step("OnDiscard") },
	}
	if !batches {
		o.Handle = func(_ context.Context, item T) error { return handle(item) }
		return o
	}
	o.BatchSize, o.HandleBatch = 3, func(_ context.Context, items []T) (errs []error) {
		for _, item := range items {
			errs = append(errs, handle(item))
		}
		return errs
	}
	return o
}

// work runs workers, and new ones when they have panicked, until all items that
// feed adds are settled.
func (w *faultInjector) work(fake *clock.Fake, run func() error, feed func(i int)) (over func() bool) {
	start := func() func() bool { return returned(func() { w.panics(func() { _ = run() }) }) }
	over = start()
	for i := range 60 {
		if i < 12 {
			feed(i)
		}
		w.panics(func() { fake.Step(7 * time.Millisecond) })
		synctest.Wait()
		if over() {
			over = start()
		}
	}
	synctest.Wait()
	return over
}

var functionsBesideWorkers = []string{
	"Hash", "Group", "GroupPolicy", "Now", "AfterFunc", "Reset", "When", "Forget", "NumRequeues", "Logger",
	"OnWatermark", "OnError", "OnDiscard",
}

func playWorkersOfValues(t *testing.T, w *faultInjector, batches bool) {
	p := newCoalescerPlay(t, w, batches)
	r, reported := replies{}, []int{}
	handle := func(one numbersOfText) error {
		err := r.to(one.Value[0])
		if err == nil {
			p.came = append(p.came, one.Value...)
		}
		return err
	}
	o := injectedWorkers(w, batches, handle, func(one numbersOfText) { reported = append(reported, one.Value...) })
	run := func() error {
		workers, err := worker.New(p.c, o)
		require.NoError(t, err)
		return workers.Run(t.Context())
	}
	over := w.work(p.fake, run, func(i int) { p.put(string("abcd"[i%4]), p.c.Put) })
	p.check()
	p.disabled(func() {
		require.Zero(t, p.c.Stats().Held)
		require.Zero(t, p.c.Stats().Misused)
		p.c.ShutDown()
	})
	requireBecomesTrue(t, over)
	all := slices.Concat(p.came, reported)
	slices.Sort(all)
	slices.Sort(p.in)
	require.Equal(t, p.in, all, "reported %v", reported)
}

func TestC58EveryCallMayPanicInAWorker(t *testing.T) {
	forEachCall(t, append(slices.Clone(functionsBesideWorkers), "Merge", "Weight"), playWorkersOfValues)
}

func playWorkersOfItems(t *testing.T, w *faultInjector, batches bool) {
	fake := newFake()
	var q *shardq.Queue[int]
	w.disabled(func() { q = shardq.MustNew(injectedOptions[int](w, batches, fake)) })
	r, settled, want := replies{}, []int{}, []int{}
	handle := func(item int) error {
		err := r.to(item)
		if err == nil {
			settled = append(settled, item)
		}
		return err
	}
	o := injectedWorkers(w, batches, handle, func(item int) { settled = append(settled, item) })
	run := func() error {
		workers, err := worker.New(q, o)
		require.NoError(t, err)
		return workers.Run(t.Context())
	}
	over := w.work(fake, run, func(item int) {
		want = append(want, item)
		// A hook that panics does so after the item was added.
		if w.panics(func() { q.Add(item) }) && w.function != "OnWatermark" && w.function != "Logger" {
			q.Add(item)
		}
	})
	w.disabled(func() {
		require.Zero(t, q.Stats().Held)
		require.Zero(t, q.Stats().Misused)
		q.ShutDown()
	})
	requireBecomesTrue(t, over)
	slices.Sort(settled)
	require.Equal(t, want, settled, "handled with nil, or reported to OnDiscard")
}

func TestC51EveryCallMayPanicInAWorker(t *testing.T) {
	forEachCall(t, functionsBesideWorkers, playWorkersOfItems)
}
