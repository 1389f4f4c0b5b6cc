package limiter

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/litmus"
	"golang.org/x/time/rate"
)

// The races that the comments of this package describe, and their tests:
//
//	peritem.go  allocate: "unless another goroutine has just done so" TestLitmusFirstFailures
//	stripe.go   inUse is set and cleared under the lock               TestLitmusForgetAgainstWhenOfAnother, TestLitmusSweepAgainstWhen
//	stripe.go   a caller that reads inUse early "may count as earlier" TestLitmusForgetAgainstWhen
//	stripe.go   fail: "never shorten an earlier delay"                TestLitmusExpiryAgainstWhen
//	stripe.go   a count is one step, in one hold of the lock          TestLitmusWhenAgainstWhen
//	table.go    grows and shrinks, under the stripe's lock            TestLitmusCrowdedStripe
//	manager.go  each Step "advances the Backoff for all callers"      TestLitmusManagerSteps
//	loop.go     over holds the signal that no wait receives           TestLitmusLoopEnds
//	bucket.go   all items share the bucket                            TestLitmusBucket

// lockOf returns the lock of the item's stripe.
func lockOf(p *perItem[int], item int) func() *sync.Mutex {
	return func() *sync.Mutex {
		return &p.stripes.Load().of(maphash.Comparable(p.seed, item)).mu
	}
}

// inOneStripe returns items that share a stripe of the limiter.
func inOneStripe(p *perItem[int], n int) (items []int) {
	all := p.stripes.Load()
	if all == nil {
		all = p.allocate()
	}
	home := all.of(maphash.Comparable(p.seed, 0))
	for item := 0; len(items) < n; item++ {
		if all.of(maphash.Comparable(p.seed, item)) == home {
			items = append(items, item)
		}
	}
	return items
}

func newExponential(o ...Options) *perItem[int] {
	return NewExponential[int](sec, time.Hour, o...).(*perItem[int])
}

// TestLitmusFirstFailures: the first two failures of a limiter race. Both are
// counted.
func TestLitmusFirstFailures(t *testing.T) {
	var l *perItem[int]
	litmus.Pair{
		Rounds:   20_000,
		Begin:    func() { l = newExponential() },
		One:      func() { l.When(1) },
		Other:    func() { l.When(2) },
		Outcome:  func() string { return fmt.Sprint(l.NumRequeues(1), l.NumRequeues(2)) },
		Outcomes: []string{"1 1"},
	}.Run(t)
}

// TestLitmusWhenAgainstWhen: two concurrent failures of an item count as two,
// and get different delays.
func TestLitmusWhenAgainstWhen(t *testing.T) {
	l := newExponential()
	var a, b time.Duration
	l.allocate()
	litmus.Pair{
		Lock:     lockOf(l, 1),
		Rounds:   50_000,
		Begin:    func() { l.Forget(1) },
		One:      func() { a = l.When(1) },
		Other:    func() { b = l.When(1) },
		Outcome:  func() string { return fmt.Sprint(min(a, b), max(a, b), l.NumRequeues(1)) },
		Outcomes: []string{"1s 2s 2"},
	}.Run(t)
}

// TestLitmusForgetAgainstWhen: the failure comes before the Forget and is
// forgotten, or comes after it and is the first.
func TestLitmusForgetAgainstWhen(t *testing.T) {
	l := newExponential()
	var delay time.Duration
	litmus.Pair{
		Lock:   lockOf(l, 1),
		Rounds: 50_000,
		Begin: func() {
			l.Forget(1)
			l.When(1)
			l.When(1)
		},
		One:      func() { delay = l.When(1) },
		Other:    func() { l.Forget(1) },
		Outcome:  func() string { return fmt.Sprint(delay, l.NumRequeues(1)) },
		Outcomes: []string{"4s 0", "1s 1"},
	}.Run(t)
}

// TestLitmusForgetAgainstWhenOfAnother: a Forget in vain finds the stripe empty
// and clears inUse, while a first history goes in. The history stays visible.
func TestLitmusForgetAgainstWhenOfAnother(t *testing.T) {
	l := newExponential()
	items := inOneStripe(l, 2)
	litmus.Pair{
		Lock:   lockOf(l, items[0]),
		Rounds: 50_000,
		Begin: func() {
			l.When(items[0])
			l.Forget(items[0]) // leaves inUse set
		},
		One:      func() { l.Forget(items[1]) },
		Other:    func() { l.When(items[0]) },
		Outcome:  func() string { return fmt.Sprint(l.NumRequeues(items[0])) },
		Outcomes: []string{"1"},
	}.Run(t)
}

// TestLitmusSweepAgainstWhen: an expired history is swept while its item fails
// again. That failure counts as the first.
func TestLitmusSweepAgainstWhen(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := newExponential(o)
	items := inOneStripe(l, 3)
	stripe := l.stripes.Load().of(maphash.Comparable(l.seed, items[0]))
	var delay time.Duration
	litmus.Pair{
		Lock:   func() *sync.Mutex { return &stripe.mu },
		Rounds: 20_000,
		Begin: func() {
			fake.Step(time.Hour)
			for _, item := range items {
				l.When(item)
				l.When(item)
			}
			fake.Step(time.Hour)
		},
		One:   func() { stripe.sweep(&l.idle, l.idle.now()) },
		Other: func() { delay = l.When(items[0]) },
		Outcome: func() string {
			checkStripe(t, stripe)
			return fmt.Sprint(delay, l.NumRequeues(items[0]), l.NumRequeues(items[1]))
		},
		Outcomes: []string{"1s 1 0"},
	}.Run(t)
}

// TestLitmusExpiryAgainstWhen: of two concurrent failures, one waits for an
// hour and the other for a second. The history outlasts both delays, in either
// order.
func TestLitmusExpiryAgainstWhen(t *testing.T) {
	o, fake := expiring(sec)
	l := NewFastSlow[int](time.Hour, sec, 1, o)
	fail := func() { l.When(1) }
	litmus.Pair{
		Rounds: 50_000,
		Begin:  func() { l.Forget(1) },
		One:    fail,
		Other:  fail,
		Outcome: func() string {
			fake.Step(time.Hour)
			running := l.NumRequeues(1)
			fake.Step(sec)
			return fmt.Sprint(running, l.NumRequeues(1))
		},
		Outcomes: []string{"2 0"},
	}.Run(t)
}

// TestLitmusCrowdedStripe: a stripe's table grows and shrinks while another
// item of the stripe fails, is looked up and is forgotten.
func TestLitmusCrowdedStripe(t *testing.T) {
	l := newExponential()
	items := inOneStripe(l, 41)
	guest, crowd := items[0], items[1:]
	stripe := l.stripes.Load().of(maphash.Comparable(l.seed, guest))
	var wrong string
	litmus.Pair{
		Lock:   lockOf(l, guest),
		Rounds: 10_000,
		Begin:  func() { wrong = "" },
		One: func() {
			for _, item := range crowd {
				l.When(item)
			}
			for _, item := range crowd {
				l.Forget(item)
			}
		},
		Other: func() {
			for range len(crowd) {
				if delay, n := l.When(guest), l.NumRequeues(guest); delay != sec || n != 1 {
					wrong = fmt.Sprintf("delay %v, %d requeues", delay, n)
				}
				l.Forget(guest)
			}
		},
		Outcome:  func() string { return fmt.Sprint(wrong, checkStripe(t, stripe)) },
		Outcomes: []string{"0"},
	}.Run(t)
}

// TestLitmusManagerSteps: concurrent Steps return different delays, and a Reset
// restarts the Backoff.
func TestLitmusManagerSteps(t *testing.T) {
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 10})
	var a, b time.Duration
	lock := func() *sync.Mutex { return &m.mu }
	litmus.Pair{
		Lock:     lock,
		Rounds:   50_000,
		Begin:    m.Reset,
		One:      func() { a = m.Step() },
		Other:    func() { b = m.Step() },
		Outcome:  func() string { return fmt.Sprint(min(a, b), max(a, b), m.Step()) },
		Outcomes: []string{"1s 2s 4s"},
	}.Run(t)
	litmus.Pair{
		Lock:     lock,
		Rounds:   50_000,
		Begin:    func() { m.Reset(); m.Step(); m.Step() },
		One:      func() { a = m.Step() },
		Other:    m.Reset,
		Outcome:  func() string { return fmt.Sprint(a, m.Step()) },
		Outcomes: []string{"4s 1s", "1s 2s"},
	}.Run(t)
}

// TestLitmusManagerQuietPeriod: the quiet period begins when the longer of two
// delays has expired, whichever was returned first.
func TestLitmusManagerQuietPeriod(t *testing.T) {
	o, fake := expiring(sec)
	m := NewManager(Backoff{Duration: time.Hour, Factor: 0.5, Steps: 1}, o)
	step := func() { m.Step() }
	litmus.Pair{
		Rounds: 50_000,
		Begin:  func() { fake.Step(24 * time.Hour) },
		One:    step,
		Other:  step,
		Outcome: func() string {
			fake.Step(time.Hour)
			return fmt.Sprint(m.Step())
		},
		Outcomes: []string{"30m0s"},
	}.Run(t)
}

// TestLitmusBucket: two failures compete for one token, and one gets it.
func TestLitmusBucket(t *testing.T) {
	fake := clock.NewFake(start)
	l := NewBucket[int](rate.NewLimiter(1, 1), Options{Clock: fake})
	var a, b time.Duration
	litmus.Pair{
		Rounds:   50_000,
		Begin:    func() { fake.Step(time.Hour) },
		One:      func() { a = l.When(1) },
		Other:    func() { b = l.When(2) },
		Outcome:  func() string { return fmt.Sprint(min(a, b), max(a, b)) },
		Outcomes: []string{"0s 1s"},
	}.Run(t)
}

// TestLitmusLoopEnds: a delay of Loop expires together with its context. No
// Loop, no call of the timer's function and no timer stays behind.
func TestLitmusLoopEnds(t *testing.T) { synctest.Test(t, litmusLoopEnds) } // the bubble detects a hang at once

func litmusLoopEnds(t *testing.T) {
	var fake *clock.Fake
	var cancel context.CancelFunc
	var ended chan int
	litmus.Pair{
		Rounds: 10_000,
		Begin: func() {
			fake, ended = clock.NewFake(start), make(chan int)
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			go func() {
				runs := 0
				m := NewManager(Backoff{Duration: sec}, Options{Clock: fake})
				Loop(ctx, m, FromEnd, func(context.Context) { runs++ })
				ended <- runs
			}()
			for fake.Timers() == 0 {
				runtime.Gosched()
			}
		},
		One:   func() { fake.Step(sec) },
		Other: func() { cancel() },
		Outcome: func() string {
			runs := <-ended
			return fmt.Sprint(runs <= 2, fake.Timers())
		},
		Outcomes: []string{"true 0"},
	}.Run(t)
}
