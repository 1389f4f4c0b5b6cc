package contract

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// failer is the part of testing.T and rapid.T that playing needs.
type failer interface {
	Fatalf(format string, arguments ...any)
}

// A player makes the calls of a program on a queue and on its model. At the
// first difference the test fails, and prints the program up to there.
//
// It must be used in a synctest bubble. After each call it waits until all
// goroutines are blocked. So any number of consumers can be parked in Get.
type player interface {
	play(c call)
	// finish processes all items, and checks that nothing is left.
	finish()
	// release ends all blocked calls. It must be called in any case.
	release()
	// story returns the program in readable form: a call in each line, with its
	// result.
	story() string
}

// newPlayer returns a player of a new queue.
func newPlayer(t failer, s setup) player { return s.items.start(t, s) }

// playing is a player of a queue of T.
type playing[T comparable] struct {
	failer
	setup  setup
	events []event[T]
	failed bool
	// hurried says that a Get was called and the next call must meet it: the
	// player did not wait until the Get parked.
	hurried bool

	*universe[T]
	queue    *shardq.Queue[T]
	model    *modelQueue[T]
	limiter  *modelLimiter[T]
	clock    clock.Clock
	held     []T // in the order of their Gets
	claims   claims[T]
	reports  []shardq.Misuse[T]
	drained  atomic.Int32
	parked   []*parkedGet
	pending  []*pending[T]
	began    time.Time   // when the queue was made
	reported map[T]bool  // the items whose processing was reported to OnStuck
	shardOf  map[int]int // the shard of each line, as far as it is known

	mu       sync.Mutex
	outcomes []outcome[T] // under mu, because a Get may be woken by time alone
	marks    []bool       // under mu: the calls of the watermark hook
	stuck    []stuckReport[T]
}

// An event is a call and its result.
type event[T comparable] struct {
	call  call
	got   []T // by all Gets that returned then
	after shardq.Stats
}

func (u *universe[T]) start(t failer, s setup) player {
	p := &playing[T]{failer: t, universe: u, clock: clock.Real()}
	if s.clock == "fake" {
		p.clock = newFake()
	}
	if s.routing == "stable" && !u.stable {
		s.routing = "default"
	}
	p.setup, p.began = s, p.clock.Now()
	p.reported, p.shardOf = map[T]bool{}, map[int]int{}
	p.claims = claims[T]{returned: map[T]worker.Claim[T]{}, fences: map[T]uint64{}}
	options := shardq.Options[T]{
		Name:          modelName,
		Shards:        s.shards,
		Tick:          s.tick,
		Clock:         p.clock,
		StableRouting: s.routing == "stable",
		OnMisuse:      func(m shardq.Misuse[T]) { p.reports = append(p.reports, m) },
	}
	p.control(&options)
	if s.routing == "hash" {
		options.Hash = func(item T) uint64 { return uint64(u.number[item] % hashes) }
	}
	if s.routing == "group" {
		options.Group = u.group
	}
	options.RateLimiter, p.limiter = newLimiters[T](s.limiter, p.clock)
	p.model = newModelQueue(s.shards, s.tick, s.cancelDelayOnAdd, u.lines(s))
	p.model.grouped = s.routing == "group"
	p.model.realTime = s.clock != "fake"
	p.model.bounds.capacity, p.model.bounds.marks = s.capacity, s.marks
	p.model.age.fine = s.ages.metrics
	p.queue = engine.Follow(shardq.MustNew(options), shard.Rules{CancelDelayOnAdd: s.cancelDelayOnAdd})
	return p
}

// control sets the options for capacity, watermarks and inspection.
func (p *playing[T]) control(options *shardq.Options[T]) {
	s := p.setup
	options.Capacity, options.Ages, options.Metrics = s.capacity, s.ages.kept, s.ages.metrics
	if s.marks.high > 0 {
		options.Watermarks.Low, options.Watermarks.High = s.marks.low, s.marks.high
		options.Watermarks.On = func(mark shardq.Watermark) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.marks = append(p.marks, mark.High)
		}
	}
	if s.ages.stuck > 0 {
		options.StuckAfter = time.Duration(s.ages.stuck) * s.tick
		options.OnStuck = func(info stats.Item[T]) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.stuck = append(p.stuck, stuckReport[T]{info, p.clock.Now().Sub(p.began)})
		}
	}
}

// hashes is the number of different results of Hash, and of Group.
const hashes = 3

// group returns the group of an item.
func (u *universe[T]) group(item T) string { return fmt.Sprint(u.number[item] % hashes) }

// lines returns the function that maps an item to its line.
func (u *universe[T]) lines(s setup) func(item T) int {
	switch {
	case s.shards == 1 && s.routing != "group":
		return func(T) int { return 0 }
	case s.routing == "hash" || s.routing == "group":
		return func(item T) int { return u.number[item] % hashes }
	default:
		return func(item T) int { return u.number[item] }
	}
}

func (p *playing[T]) play(c call) {
	p.events = append(p.events, event[T]{call: c})
	defer p.failAtPanic()
	times := c.times
	if choose(callKinds, byte(c.kind)).whole {
		times = 1
	}
	for i := range times {
		one := c
		one.item += i
		p.model.measureReadings(2 + c.times + len(p.parked))
		p.do(one)
		if !p.hurried || c.kind != callGetBeside {
			p.settle()
		}
	}
	if !p.hurried {
		p.check()
		p.inspect(c)
	}
}

// event returns the present one.
func (p *playing[T]) event() *event[T] { return &p.events[len(p.events)-1] }

// fatalf ends the test.
func (p *playing[T]) fatalf(format string, arguments ...any) {
	p.failed = true
	p.event().after = p.queue.Stats()
	p.Fatalf("%s\n%s", fmt.Sprintf(format, arguments...), p.story())
}

func (p *playing[T]) story() string {
	reported := program{setup: p.setup}
	lines := []string{"", "", p.setup.String()}
	for _, e := range p.events {
		reported.calls = append(reported.calls, e.call)
		line := e.call.describe(p.setup)
		if len(e.got) > 0 {
			line += fmt.Sprintf(" got %#v", e.got)
		}
		lines = append(lines, fmt.Sprintf("%-50s ready=%d delayed=%d processing=%d",
			line, e.after.Ready, e.after.Delayed, e.after.Processing))
	}
	lines[0] = fmt.Sprintf("program: %q", reported.text())
	return strings.Join(lines, "\n")
}

func (p *playing[T]) failAtPanic() {
	if p.failed {
		return
	}
	if r := recover(); r != nil {
		p.fatalf("panic: %v\n%s", r, debug.Stack())
	}
}

// do makes a call.
func (p *playing[T]) do(c call) {
	if choose(callKinds, byte(c.kind)).whole {
		p.doBatch(c)
		return
	}
	if choose(callKinds, byte(c.kind)).item {
		p.doWith(p.item(c.item), c)
		return
	}
	switch c.kind {
	case callDoneHeld:
		if len(p.held) > 0 {
			p.doWith(p.held[modulo(c.number, len(p.held))], call{kind: callDone})
		}
	case callGet, callGetContext, callGetBeside:
		p.get(c.kind)
	case callGetCanceled:
		p.getCanceled()
	case callCancel:
		p.cancel(c.number)
	case callStep:
		p.step(c.duration.in(p.model.tick))
	case callStepToNext:
		p.stepToNext(time.Duration(c.number))
	case callShutDown:
		p.queue.ShutDown()
		p.model.shutDown()
	case callDrain:
		p.drain()
	case callCancelAddContext:
		p.model.bounds.waiters = cancelOne(p.model.bounds.waiters, c.number)
	case callDrainContext:
		p.drainContext(c.number)
	case callCancelDrain:
		p.model.drain.pending = cancelOne(p.model.drain.pending, c.number)
	default:
		p.doClaim(c)
	}
}

// doBatch makes a call with several items.
func (p *playing[T]) doBatch(c call) {
	switch c.kind {
	case callAddBatch:
		items := p.batch(c)
		p.queue.AddBatch(items, shardq.AddOptions{})
		for _, item := range items {
			p.model.add(item)
		}
	case callAddBatchWith:
		items, o := p.batch(c), p.addOptions(c)
		p.queue.AddBatch(items, o)
		for _, item := range items {
			p.addWith(item, o)
		}
	case callDoneBatch:
		p.doneBatch(p.batch(c))
	case callDoneHeldBatch:
		if n := len(p.held); n > 0 {
			from := modulo(c.number, n)
			p.doneBatch(slices.Clone(p.held[from:min(from+c.times, n)]))
		}
	case callGetBatch:
		p.getBatch(c.times)
	default:
		p.doClaim(c)
	}
}

// batch returns the items of a batch. While a consumer is parked, none is there
// twice, because the consumer may get it in between.
func (p *playing[T]) batch(c call) (items []T) {
	for i := range c.times {
		item := p.item(c.item + i)
		if unhashable(item) || len(p.parked) > 0 && slices.Contains(items, item) {
			continue
		}
		items = append(items, item)
	}
	return items
}

func (p *playing[T]) doneBatch(items []T) {
	doneBatch(p.queue, items)
	for _, item := range items {
		p.done(item)
	}
}

// doWith makes a call that has an item.
func (p *playing[T]) doWith(item T, c call) {
	q, m := p.queue, p.model
	add := func() { p.unlessUnhashable(item, func() { q.Add(item) }, func() { m.add(item) }) }
	switch c.kind {
	case callAdd:
		add()
	case callAddAfter:
		d := c.duration.in(m.tick)
		p.unlessUnhashable(item, func() { q.AddAfter(item, d) }, func() { m.addAfter(item, d) })
	case callAddRateLimited:
		p.unlessUnhashable(item, func() { q.AddRateLimited(item) }, func() { p.addRateLimited(item) })
	case callForget:
		p.unlessUnhashableForLimiter(item, func() { q.Forget(item) }, func() { p.limiter.forget(item) })
	case callNumRequeues:
		p.unlessUnhashableForLimiter(item, func() { q.NumRequeues(item) }, func() { p.checkRequeues(item) })
	case callAddWith, callAddWithin:
		o := p.addOptions(c)
		p.unlessUnhashable(item, func() { q.AddWith(item, o) }, func() { p.addWith(item, o) })
	case callCancelItem:
		var was shardq.Canceled
		p.unlessUnhashable(item, func() { was = q.Cancel(item) }, func() { p.checkCanceled(was, m.cancel(item)) })
	case callTryAdd:
		var err error
		p.unlessUnhashable(item, func() { err = q.TryAdd(item, shardq.AddOptions{}) }, func() { p.checkTried(err, m.tryAdd(item)) })
	case callTryAddWith:
		var err error
		o := p.addOptions(c)
		p.unlessUnhashable(item, func() { err = q.TryAdd(item, o) },
			func() { p.checkTried(err, p.tryAddWith(item, o)) })
	case callAddContext:
		p.addContext(item)
	case callDone:
		p.unlessUnhashable(item, func() { q.Done(item) }, func() { p.done(item) })
	case callCancelAdd:
		p.cancel(c.number)
		add()
	case callAddCancel:
		add()
		p.cancel(c.number)
	}
}

// unlessUnhashable calls the queue and the model. For an item that is not
// hashable it calls only the queue, which must panic.
func (p *playing[T]) unlessUnhashable(item T, queue, model func()) {
	if !unhashable(item) {
		queue()
		model()
	} else if !panics(queue) {
		p.fatalf("no panic for an item that is not hashable: %#v", item)
	}
}

// unlessUnhashableForLimiter is unlessUnhashable for limiters that keep
// something for each item.
func (p *playing[T]) unlessUnhashableForLimiter(item T, queue, model func()) {
	if len(p.limiter.parts) > 0 || !unhashable(item) {
		p.unlessUnhashable(item, queue, model)
	}
}

func panics(f func()) (panics bool) {
	defer func() { panics = recover() != nil }()
	f()
	return false
}

func (p *playing[T]) addRateLimited(item T) {
	if item != item {
		p.model.reject(item)
		return
	}
	p.model.countBackoff()
	p.model.addAfter(item, p.limiter.when(item, p.model.now, p.clock.Now()))
}

// addOptions returns the options that the number and the durations of a call
// stand for.
func (p *playing[T]) addOptions(c call) shardq.AddOptions {
	policies := []shardq.DelayPolicy{shardq.KeepEarliest, shardq.KeepLatest, shardq.KeepNew, shardq.KeepOld}
	number := modulo(c.number, 2*len(policies))
	o := shardq.AddOptions{
		After:       c.duration.in(p.model.tick),
		Policy:      policies[number%len(policies)],
		RateLimited: number >= len(policies),
	}
	if c.kind == callAddWithin {
		o.MaxWait = c.bound.in(p.model.tick)
	}
	return o
}

func (p *playing[T]) addWith(item T, o shardq.AddOptions) {
	if o.RateLimited && item != item {
		p.model.reject(item)
		return
	}
	if o.RateLimited || o.After != 0 {
		p.model.countRetry(item)
	}
	if o.RateLimited {
		p.model.countBackoff()
		o.After = max(o.After, p.limiter.when(item, p.model.now, p.clock.Now()))
	}
	p.model.addWith(item, o)
}

func (p *playing[T]) tryAddWith(item T, o shardq.AddOptions) error {
	retry := o.RateLimited || o.After != 0
	if o.RateLimited && item == item {
		p.model.countBackoff()
		o.After = max(o.After, p.limiter.when(item, p.model.now, p.clock.Now()))
	}
	if err := p.model.refusal(item); err != nil {
		return err
	}
	if retry {
		p.model.countRetry(item)
	}
	p.model.addWith(item, o)
	return nil
}

func (p *playing[T]) checkCanceled(got, want shardq.Canceled) {
	if got != want {
		p.fatalf("Cancel said %+v, not %+v", got, want)
	}
}

func (p *playing[T]) checkTried(got, want error) {
	if got != want {
		p.fatalf("TryAdd or TryAddWith returned %v, not %v", got, want)
	}
}

func (p *playing[T]) checkRequeues(item T) {
	if got, want := p.queue.NumRequeues(item), p.limiter.numRequeues(item, p.model.now); got != want {
		p.fatalf("NumRequeues(%#v) is %d, not %d", item, got, want)
	}
}

func (p *playing[T]) done(item T) {
	p.model.done(item)
	if at := slices.Index(p.held, item); at >= 0 {
		p.held = slices.Delete(p.held, at, at+1)
	}
}

// drain begins a drain, which may return at once or much later.
func (p *playing[T]) drain() {
	go func() {
		p.queue.ShutDownWithDrain()
		p.drained.Add(1)
	}()
	p.model.shutDownWithDrain()
}

// stepToNext lets time pass to the next deadline, and by more.
func (p *playing[T]) stepToNext(more time.Duration) {
	if deadline, waits := p.model.earliest(); waits && deadline != endOfTime {
		p.step(p.model.until(deadline) + more)
	}
}

// step lets time pass, as far as the clock can go.
func (p *playing[T]) step(d time.Duration) {
	fake, isFake := p.clock.(*clock.Fake)
	first, last := -100*years, time.Duration(endOfTime-1)
	if !isFake {
		last = 100 * years
	}
	if !isFake || p.limiter.expires() {
		// Real time does not go back. Nor may it with a limiter that forgets,
		// because chance decides when the limiter checks for expired histories.
		first = p.model.now
	}
	switch now := p.model.now; {
	case d > 0:
		d = min(d, last-max(now, 0))
	case now > first:
		d = max(d, -100*years, first-min(now, 0))
	default:
		d = 0
	}
	if isFake {
		fake.Step(d)
	} else {
		time.Sleep(d)
	}
	p.model.pass(d)
}

const years = 365 * 24 * time.Hour
