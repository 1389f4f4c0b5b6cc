package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
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

func TestC17H17EveryCallMayPanic(t *testing.T) {
	never := slices.Clone(userFunctions)
	for _, function := range userFunctions {
		for _, groups := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,groups=%v", function, groups), func(t *testing.T) {
				count := &faultInjector{function: function}
				synctest.Test(t, func(t *testing.T) { playPanics(t, count, groups) })
				if count.calls > 0 {
					never = slices.DeleteFunc(never, func(name string) bool { return name == function })
				}
				for k := 1; k <= count.calls && !t.Failed(); k++ {
					synctest.Test(t, func(t *testing.T) {
						defer func() {
							if t.Failed() {
								t.Logf("call %d of %s", k, function)
							}
						}()
						playPanics(t, &faultInjector{function: function, at: k}, groups)
					})
				}
			})
		}
	}
	require.Empty(t, never, "the program does not call these")
}

// A panicPlay is a running program, and what its caller knows.
type panicPlay struct {
	*faultInjector
	t     *testing.T
	queue *shardq.Queue[int]
	fake  *clock.Fake
	held  []int
	// asked counts the adds of an item, and taken its hand-outs. owed says that
	// there was none since the last add.
	asked, taken map[int]int
	owed         map[int]bool
}

func playPanics(t *testing.T, w *faultInjector, groups bool) {
	p := &panicPlay{
		faultInjector: w, t: t, fake: newFake(), asked: map[int]int{}, taken: map[int]int{}, owed: map[int]bool{},
	}
	w.disabled(func() { p.queue = shardq.MustNew(hookedOptions(w.step, groups, p.fake)) })
	q, ctx := p.queue, t.Context()
	p.add(1, q.Add)
	p.add(2, q.Add)
	p.add(10, func(item int) { q.AddWith(item, shardq.AddOptions{Priority: 3}) })
	p.add(11, func(item int) { require.NoError(t, q.TryAdd(item, shardq.AddOptions{})) })
	p.add(20, func(item int) { require.NoError(t, q.AddContext(ctx, item, shardq.AddOptions{})) })
	p.add(21, func(item int) { q.AddAfter(item, 5*time.Millisecond) })
	p.add(30, q.AddRateLimited)
	p.add(31, func(item int) { q.AddWith(item, shardq.AddOptions{RateLimited: true, After: time.Millisecond}) })
	p.take(func() []int { item, _ := q.Get(); return []int{item} })
	p.take(func() []int { item, err := q.GetContext(ctx); require.NoError(t, err); return []int{item} })
	p.add(p.held[0], q.Add)            // dirty
	p.add(p.held[1], q.AddRateLimited) // after its Done
	p.done(func() {
		for _, item := range p.held {
			if p.isProcessing(item) {
				q.Done(item)
			}
		}
	})
	p.panics(func() { q.Done(99) })
	p.pass(30 * time.Millisecond)
	for _, end := range []func(c worker.Claim[int]) error{worker.Claim[int].Done, worker.Claim[int].Retry, worker.Claim[int].Release} {
		p.claim(1, func(claims []worker.Claim[int]) { _ = end(claims[0]) }, true)
	}
	p.retry(func() { q.AddBatch([]int{40, 41, 50, 51}, shardq.AddOptions{}) })
	for _, item := range []int{40, 41, 50, 51} {
		p.asked[item]++
		p.owed[item] = true
	}
	p.claim(5, func(claims []worker.Claim[int]) { _ = q.DoneClaims(claims) }, false)
	for _, look := range []func(){
		func() { q.Forget(1) }, func() { q.NumRequeues(1) }, func() { q.Stats() }, func() { q.Snapshot(10) },
	} {
		p.retry(look)
	}
	p.add(60, q.Add)
	p.retry(func() { q.Cancel(60) })
	delete(p.owed, 60)
	p.loopOnce()
	p.fill()
	p.processAll()
	p.add(61, func(item int) { q.AddAfter(item, time.Millisecond) })
	p.end()
}

// add adds an item, and once more if a panic says that it was not added.
func (p *panicPlay) add(item int, add func(item int)) {
	p.retry(func() {
		p.asked[item]++
		p.owed[item] = true
		add(item)
	})
	p.check()
}

// check checks that the items in processing are those that the caller has.
func (p *panicPlay) check() {
	p.t.Helper()
	p.disabled(func() {
		var processing []int
		for info := range p.queue.All(stats.Processing) {
			processing = append(processing, info.Item)
		}
		require.ElementsMatch(p.t, p.held, processing)
	})
}

func (p *panicPlay) take(get func() []int) {
	for left := 2; left > 0 && p.ready() > 0; left-- {
		var items []int
		if p.panics(func() { items = get() }); len(items) > 0 {
			left = 0
		}
		for _, item := range items {
			p.taken[item]++
			delete(p.owed, item)
		}
		p.held = append(p.held, items...)
		p.check()
	}
}

func (p *panicPlay) ready() (n int) {
	p.disabled(func() { n = p.queue.Len() })
	return n
}

// done ends the held items, by a call that is repeated for those that it has
// left.
func (p *panicPlay) done(end func()) {
	p.retry(end)
	p.held = nil
	p.check()
}

func (p *panicPlay) isProcessing(item int) (is bool) {
	p.disabled(func() {
		row, held := p.queue.Lookup(item)
		is = held && row.State == stats.Processing
	})
	return is
}

// claim claims some items, and ends the claims. If the end adds them again, it
// may have asked for another run before it panicked.
func (p *panicPlay) claim(n int, end func(claims []worker.Claim[int]), again bool) {
	claims := make([]worker.Claim[int], n)
	p.take(func() (items []int) {
		n, err := p.queue.ClaimBatch(p.t.Context(), claims)
		require.NoError(p.t, err)
		for _, claim := range claims[:n] {
			items = append(items, claim.Item)
		}
		claims = claims[:n]
		return items
	})
	if len(p.held) == 0 {
		return // the claims were lost with a panic, before they were made
	}
	for _, item := range p.held {
		if again {
			p.asked[item] += 2
		}
	}
	p.done(func() { end(claims) })
}

func (p *panicPlay) processAll() {
	for p.ready() > 0 {
		p.claim(5, func(claims []worker.Claim[int]) { _ = p.queue.DoneClaims(claims) }, false)
	}
}

func (p *panicPlay) pass(d time.Duration) {
	p.panics(func() { p.fake.Step(d) })
	p.panics(func() { p.fake.Step(0) })
	synctest.Wait()
	p.check()
}

// loopOnce takes a turn of the loop over Items, which calls Done itself.
func (p *panicPlay) loopOnce() {
	p.add(62, p.queue.Add)
	for left := 2; left > 0 && p.ready() > 0; left-- {
		p.panics(func() {
			for item := range p.queue.Items(p.t.Context()) {
				p.taken[item]++
				delete(p.owed, item)
				p.held = []int{item}
				p.check()
				break
			}
		})
		p.held = nil
		p.check()
	}
}

// fill makes a caller wait for capacity, and admits it.
func (p *panicPlay) fill() {
	for item := 70; ; item++ {
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
		p.claim(1, func(claims []worker.Claim[int]) { _ = claims[0].Done() }, false)
		synctest.Wait()
	}
	require.True(p.t, over(), "there is capacity, and no waiter is admitted")
}

// end drains the queue, and checks the counts.
func (p *panicPlay) end() {
	begun, cancel := context.WithCancel(p.t.Context())
	cancel()
	for range 2 {
		p.panics(func() { _, _ = p.queue.Drain(begun, shardq.DrainOptions{Delayed: shardq.RunDelayed}) })
	}
	p.processAll()
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

// A Drain that panics returns what it dropped with the next call.
func TestC42PanicInADrainLosesNothing(t *testing.T) {
	for _, retries := range []shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries} {
		for _, function := range []string{"Now", "AfterFunc", "Reset", "Stop", "OnWatermark", "Logger"} {
			for k, w := 1, (*faultInjector)(nil); w == nil || w.calls >= w.at; k++ {
				w = &faultInjector{function: function, at: k}
				var q *shardq.Queue[int]
				w.disabled(func() {
					q = shardq.MustNew(hookedOptions(w.step, false, newFake()))
					for item := range 4 {
						q.AddAfter(item, time.Hour)
					}
				})
				var dropped []int
				w.retry(func() {
					items, err := q.Drain(t.Context(), shardq.DrainOptions{Retries: retries})
					require.NoError(t, err)
					dropped = append(dropped, items...)
				})
				require.ElementsMatch(t, numbers(4), dropped, "call %d of %s", k, function)
			}
		}
	}
}

// OnAdd and Watermarks.On are called although the clock panics with the item in
// place: when the timer is set, at the end of the window's add.
func TestC64C80PanicOfTheClockHidesNoAdd(t *testing.T) {
	for name, add := range map[string]func(q *shardq.Queue[int]){
		"AddWith": func(q *shardq.Queue[int]) { q.AddWith(1, shardq.AddOptions{NotAgainWithin: time.Hour}) },
		"TryAdd":  func(q *shardq.Queue[int]) { _ = q.TryAdd(1, shardq.AddOptions{NotAgainWithin: time.Hour}) },
	} {
		told := 0
		q := shardq.MustNew(shardq.Options[int]{
			Clock: hookedClock{newFake(), func(function string) {
				if function == "AfterFunc" {
					panic(function)
				}
			}},
			OnAdd:      func(stats.Add[int]) { told++ },
			Watermarks: shardq.Watermarks{High: 1, On: func(shardq.Watermark) { told++ }},
			Capacity:   1,
		})
		require.Panics(t, func() { add(q) }, name)
		requireCounts(t, q, 1, 0, 0)
		require.Equal(t, 2, told, name)
	}
}
