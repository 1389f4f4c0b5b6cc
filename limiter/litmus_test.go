package limiter

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
	"golang.org/x/time/rate"
)

// What the comments of this package say of races, and the test that tries it:
//
//	peritem.go  allocate: "unless somebody else has just done so"     TestLitmusFirstFailures
//	stripe.go   inUse is set and cleared under the lock               TestLitmusForgetAgainstWhenOfAnother, TestLitmusSweepAgainstWhen
//	stripe.go   who reads inUse too soon "may count as earlier"       TestLitmusForgetAgainstWhen
//	stripe.go   fail: "never cut short an earlier delay"              TestLitmusExpiryAgainstWhen
//	stripe.go   a count is one step, in one hold of the lock          TestLitmusWhenAgainstWhen
//	table.go    grows and shrinks, under the stripe's lock            TestLitmusCrowdedStripe
//	manager.go  each Step "moves the Backoff on for all"              TestLitmusManagerSteps
//	loop.go     over holds the signal that nobody takes               TestLitmusLoopEnds
//	bucket.go   all items share the bucket                            TestLitmusBucket

// A litmus is two calls that are made at the same time, over and over, and a table of
// what may come of it. In the first rounds one call comes after the other, in both
// orders; in the next they are held up at a lock, if there is one to hold them up.
type litmus struct {
	rounds     int
	lock       func() *sync.Mutex
	begin      func()
	one, other func()
	outcome    func() string
	// outcomes are those that may be. All of them come of some order of the calls, so
	// a test that does not see them does not try what it means to try.
	outcomes []string
}

func (l litmus) run(t *testing.T) {
	t.Helper()
	processors := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(processors)
	if testing.Short() {
		l.rounds /= 10
	}
	seen := map[string]int{}
	for round := range l.rounds {
		l.begin()
		first, second := l.one, l.other
		if round%2 == 1 {
			first, second = second, first
		}
		switch way := round / 2; {
		case way == 0:
			first()
			second()
		case way < 4 && l.lock != nil:
			onOneProcessor(func() { heldUp(l.lock(), first, second) })
		case way < 8 && l.lock != nil:
			onOneProcessor(func() { overtaken(l.lock(), first, second) })
		default:
			together(round, first, second)
		}
		outcome := l.outcome()
		seen[outcome]++
		if !slices.Contains(l.outcomes, outcome) {
			t.Fatalf("round %d: forbidden outcome: %s\n%v", round, outcome, seen)
		}
	}
	if len(seen) < len(l.outcomes) {
		t.Errorf("not all outcomes were seen: %v", seen)
	}
	t.Log(seen)
}

// together calls both as nearly at the same time as it can, one of them a little later
// now and then.
func together(round int, one, other func()) {
	var ready atomic.Int32
	meet := func(seed uint64) {
		ready.Add(1)
		for n := 1; ready.Load() < 2; n++ {
			if n%1000 == 0 {
				runtime.Gosched()
			}
		}
		dice := seed * 0x9e3779b97f4a7c15 >> 32
		if dice%8 == 0 {
			runtime.Gosched()
		}
		for range dice % 64 * (dice >> 8 % 4) {
			loop()
		}
	}
	var both sync.WaitGroup
	both.Go(func() { meet(uint64(2*round + 1)); other() })
	meet(uint64(2 * round))
	one()
	both.Wait()
}

//go:noinline
func loop() {}

func onOneProcessor(do func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	do()
}

// heldUp makes both calls, the one first, on one processor, while the lock is held that
// both need, and then hands it over from one to the other: the first stops at the end of
// its critical section until the other had its own. (A mutex that has let somebody starve
// for a millisecond is handed over: package sync.)
func heldUp(lock *sync.Mutex, first, second func()) {
	var both sync.WaitGroup
	lock.Lock()
	both.Go(first)
	makeRoom()
	both.Go(second)
	makeRoom()
	for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
		makeRoom()
	}
	lock.Unlock()
	if lock.TryLock() { // before the first, who will not have that again
		makeRoom()
		lock.Unlock()
	}
	both.Wait()
}

// overtaken likewise makes the first call stop before its critical section until the
// other is through.
func overtaken(lock *sync.Mutex, first, second func()) {
	var both sync.WaitGroup
	lock.Lock()
	both.Go(first)
	makeRoom()
	lock.Unlock()
	both.Go(second)
	both.Wait()
}

// makeRoom lets all others run who can, if there is one processor.
func makeRoom() {
	for range 20 {
		runtime.Gosched()
	}
}

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

// TestLitmusFirstFailures: the first two failures of a limiter meet; both are counted.
func TestLitmusFirstFailures(t *testing.T) {
	var l *perItem[int]
	litmus{
		rounds:   20_000,
		begin:    func() { l = newExponential() },
		one:      func() { l.When(1) },
		other:    func() { l.When(2) },
		outcome:  func() string { return fmt.Sprint(l.NumRequeues(1), l.NumRequeues(2)) },
		outcomes: []string{"1 1"},
	}.run(t)
}

// TestLitmusWhenAgainstWhen: two failures of an item are two, and have two delays.
func TestLitmusWhenAgainstWhen(t *testing.T) {
	l := newExponential()
	var a, b time.Duration
	l.allocate()
	litmus{
		lock:     lockOf(l, 1),
		rounds:   50_000,
		begin:    func() { l.Forget(1) },
		one:      func() { a = l.When(1) },
		other:    func() { b = l.When(1) },
		outcome:  func() string { return fmt.Sprint(min(a, b), max(a, b), l.NumRequeues(1)) },
		outcomes: []string{"1s 2s 2"},
	}.run(t)
}

// TestLitmusForgetAgainstWhen: the failure comes before the Forget and is forgotten,
// or after it and is the first.
func TestLitmusForgetAgainstWhen(t *testing.T) {
	l := newExponential()
	var delay time.Duration
	litmus{
		lock:   lockOf(l, 1),
		rounds: 50_000,
		begin: func() {
			l.Forget(1)
			l.When(1)
			l.When(1)
		},
		one:      func() { delay = l.When(1) },
		other:    func() { l.Forget(1) },
		outcome:  func() string { return fmt.Sprint(delay, l.NumRequeues(1)) },
		outcomes: []string{"4s 0", "1s 1"},
	}.run(t)
}

// TestLitmusForgetAgainstWhenOfAnother: a Forget for nothing finds the stripe empty and
// takes it out of use, while a first history goes in: it is not hidden by that.
func TestLitmusForgetAgainstWhenOfAnother(t *testing.T) {
	l := newExponential()
	items := inOneStripe(l, 2)
	litmus{
		lock:   lockOf(l, items[0]),
		rounds: 50_000,
		begin: func() {
			l.When(items[0])
			l.Forget(items[0]) // leaves the stripe in use
		},
		one:      func() { l.Forget(items[1]) },
		other:    func() { l.When(items[0]) },
		outcome:  func() string { return fmt.Sprint(l.NumRequeues(items[0])) },
		outcomes: []string{"1"},
	}.run(t)
}

// TestLitmusSweepAgainstWhen: an item's history has expired and is swept, while the item
// fails again: for the first time, as all can see.
func TestLitmusSweepAgainstWhen(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := newExponential(o)
	items := inOneStripe(l, 3)
	stripe := l.stripes.Load().of(maphash.Comparable(l.seed, items[0]))
	var delay time.Duration
	litmus{
		lock:   func() *sync.Mutex { return &stripe.mu },
		rounds: 20_000,
		begin: func() {
			fake.Step(time.Hour)
			for _, item := range items {
				l.When(item)
				l.When(item)
			}
			fake.Step(time.Hour)
		},
		one:   func() { stripe.sweep(&l.idle, l.idle.now()) },
		other: func() { delay = l.When(items[0]) },
		outcome: func() string {
			checkStripe(t, stripe)
			return fmt.Sprint(delay, l.NumRequeues(items[0]), l.NumRequeues(items[1]))
		},
		outcomes: []string{"1s 1 0"},
	}.run(t)
}

// TestLitmusExpiryAgainstWhen: of two failures that meet, one waits for an hour and the
// other for a second. The history outlasts both, whichever was first.
func TestLitmusExpiryAgainstWhen(t *testing.T) {
	o, fake := expiring(sec)
	l := NewFastSlow[int](time.Hour, sec, 1, o)
	fail := func() { l.When(1) }
	litmus{
		rounds: 50_000,
		begin:  func() { l.Forget(1) },
		one:    fail,
		other:  fail,
		outcome: func() string {
			fake.Step(time.Hour)
			running := l.NumRequeues(1)
			fake.Step(sec)
			return fmt.Sprint(running, l.NumRequeues(1))
		},
		outcomes: []string{"2 0"},
	}.run(t)
}

// TestLitmusCrowdedStripe: a stripe's table grows and shrinks while another item of the
// stripe fails, is looked for and forgotten.
func TestLitmusCrowdedStripe(t *testing.T) {
	l := newExponential()
	items := inOneStripe(l, 41)
	guest, crowd := items[0], items[1:]
	stripe := l.stripes.Load().of(maphash.Comparable(l.seed, guest))
	var wrong string
	litmus{
		lock:   lockOf(l, guest),
		rounds: 10_000,
		begin:  func() { wrong = "" },
		one: func() {
			for _, item := range crowd {
				l.When(item)
			}
			for _, item := range crowd {
				l.Forget(item)
			}
		},
		other: func() {
			for range len(crowd) {
				if delay, n := l.When(guest), l.NumRequeues(guest); delay != sec || n != 1 {
					wrong = fmt.Sprintf("delay %v, %d requeues", delay, n)
				}
				l.Forget(guest)
			}
		},
		outcome:  func() string { return fmt.Sprint(wrong, checkStripe(t, stripe)) },
		outcomes: []string{"0"},
	}.run(t)
}

// TestLitmusManagerSteps: Steps that meet have a delay each, and a Reset starts over.
func TestLitmusManagerSteps(t *testing.T) {
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 10})
	var a, b time.Duration
	lock := func() *sync.Mutex { return &m.mu }
	litmus{
		lock:     lock,
		rounds:   50_000,
		begin:    m.Reset,
		one:      func() { a = m.Step() },
		other:    func() { b = m.Step() },
		outcome:  func() string { return fmt.Sprint(min(a, b), max(a, b), m.Step()) },
		outcomes: []string{"1s 2s 4s"},
	}.run(t)
	litmus{
		lock:     lock,
		rounds:   50_000,
		begin:    func() { m.Reset(); m.Step(); m.Step() },
		one:      func() { a = m.Step() },
		other:    m.Reset,
		outcome:  func() string { return fmt.Sprint(a, m.Step()) },
		outcomes: []string{"4s 1s", "1s 2s"},
	}.run(t)
}

// TestLitmusManagerQuietPeriod: the quiet period begins when the longer of two delays has
// passed, whichever was asked for first.
func TestLitmusManagerQuietPeriod(t *testing.T) {
	o, fake := expiring(sec)
	m := NewManager(Backoff{Duration: time.Hour, Factor: 0.5, Steps: 1}, o)
	step := func() { m.Step() }
	litmus{
		rounds: 50_000,
		begin:  func() { fake.Step(24 * time.Hour) },
		one:    step,
		other:  step,
		outcome: func() string {
			fake.Step(time.Hour)
			return fmt.Sprint(m.Step())
		},
		outcomes: []string{"30m0s"},
	}.run(t)
}

// TestLitmusBucket: of two failures that meet at a bucket with one token, one has it.
func TestLitmusBucket(t *testing.T) {
	fake := clock.NewFake(start)
	l := NewBucket[int](rate.NewLimiter(1, 1), Options{Clock: fake})
	var a, b time.Duration
	litmus{
		rounds:   50_000,
		begin:    func() { fake.Step(time.Hour) },
		one:      func() { a = l.When(1) },
		other:    func() { b = l.When(2) },
		outcome:  func() string { return fmt.Sprint(min(a, b), max(a, b)) },
		outcomes: []string{"0s 1s"},
	}.run(t)
}

// TestLitmusLoopEnds: the delay of a Loop ends together with its context. Neither the
// Loop stays behind, nor who calls the timer's function, nor a timer.
func TestLitmusLoopEnds(t *testing.T) { synctest.Test(t, litmusLoopEnds) } // where a hang is seen at once

func litmusLoopEnds(t *testing.T) {
	var fake *clock.Fake
	var cancel context.CancelFunc
	var ended chan int
	litmus{
		rounds: 10_000,
		begin: func() {
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
		one:   func() { fake.Step(sec) },
		other: func() { cancel() },
		outcome: func() string {
			runs := <-ended
			return fmt.Sprint(runs <= 2, fake.Timers())
		},
		outcomes: []string{"true 0"},
	}.run(t)
}
