package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/observe/debugpage"
)

// round is a plan in progress.
type round struct {
	plan       Plan
	features   Features
	queue      queue
	page       http.Handler // of a queue with metrics
	ledger     *ledger      // nil without a ledger
	violated   *violations
	fake       *clock.Fake // nil: the queue has the real clock
	context    context.Context
	progress   *atomic.Uint64
	unequal    atomic.Uint64 // adds of items that are not equal to themselves
	suppressed atomic.Bool   // user code does not panic
	// delays makes workers stop adding with delays.
	delays       delaysOfWorkers
	gate         gate
	gates        *gates // nil without the ingredient Pauses
	levels       *levels
	pool         *workerPool // nil without the ingredient Workers
	overCapacity uint64      // the items beyond the capacity before the actors began
	stuckCalls   stuckCalls  // of keys that no actor adds
	// homes has for each group the number of its shard plus 1, once it is
	// known. groupSizes has its number of keys.
	homes      [mostGroups]atomic.Int32
	groupSizes [mostGroups]int
	// groupReadings counts the readings of the groups.
	groupReadings atomic.Uint64

	stale        *staleClaims  // the pool of the actors, if they share one
	limiterCalls *limiterCalls // nil if calls are not counted
	steppedTo    atomic.Int64  // the time of the fake clock whose timers have been called

	producers, consumers sync.WaitGroup
	actors               []*actor
	goroutines           int   // before the round
	fresh                int64 // bytes of a new queue, or 0
	limiter              any   // of the queue, which does not count as its memory
}

// newRound makes the queue and the records for a plan.
func newRound(p Plan, target Target, progress *atomic.Uint64) *round {
	r := &round{
		plan: p, features: target.Features, violated: &violations{}, context: context.Background(), progress: progress,
		goroutines: runtime.NumGoroutine(),
	}
	r.levels, r.gates = &levels{violated: r.violated}, newGates(p)
	if p.Mix.Has(Groups) {
		r.groupSizes = p.groupSizes()
	}
	if p.Ledger {
		r.ledger = newLedger(p, r.violated)
		r.ledger.gates = r.gates
		r.limiterCalls = &limiterCalls{onDelay: r.ledger.limited}
	}
	wanted := r.request()
	wanted.keep = func(limiter any) { r.limiter = limiter }
	r.fresh = r.weigh(func() { r.queue = target.open(wanted) })
	if p.Mix.Has(Metrics) {
		r.page = debugpage.Handler(r.queue.observable())
	}
	if r.fake != nil && r.ledger != nil {
		begin := r.fake.Now()
		r.ledger.at = func(t time.Time) int64 { return int64(t.Sub(begin)) + 1 }
		r.ledger.time = func() int64 { return r.ledger.at(r.fake.Now()) }
	}
	return r
}

// weigh opens the queue, and returns the heap that it takes.
func (r *round) weigh(open func()) int64 {
	if r.plan.Ending != Rest {
		open()
		return 0
	}
	before := heap()
	open()
	return max(0, int64(heap())-int64(before))
}

// request describes the queue of the plan.
func (r *round) request() request {
	p := r.plan
	wanted := request{shards: p.Shards, items: p.Items, cancel: p.Cancel, places: p.Places, limiterCalls: r.limiterCalls, keep: func(any) {}}
	if p.Mix.Has(Steps) {
		r.fake = clock.NewFake(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		wanted.clock = r.fake
	}
	var hash, hook *panicker
	if p.Mix.Has(Panics) {
		wanted.limiter = &panicker{every: 211, panics: limiterPanics, suppressed: &r.suppressed}
		hash = &panicker{every: 1009, panics: hashPanics, suppressed: &r.suppressed}
		hook = &panicker{every: 11, panics: hookPanics, suppressed: &r.suppressed}
	}
	if p.Mix.Has(Misuse) || p.Mix.Has(NaN) {
		wanted.onMisuse = hook.call
	}
	if p.Mix.Has(Capacity) {
		wanted.capacity = p.Capacity
		wanted.high, wanted.low, wanted.onWatermark = p.watermarks(r.levels)
	}
	if p.Mix.Has(Ages) {
		wanted.ages, wanted.onStuck = true, r.onStuck
	}
	wanted.counted = p.countsFailures()
	wanted.lowInterval, wanted.metrics = p.lowPriorityInterval(), p.Mix.Has(Metrics)
	if p.Ending == Small { // there are many queues
		wanted.onWatermark, wanted.onStuck = nil, nil
	}
	switch {
	case p.Mix.Has(Groups):
		p.askForGroups(&wanted, hash)
		if r.gates != nil {
			wanted.groupRate = func(name string) shardq.Rate {
				hash.call()
				return r.gates.askedRate(name)
			}
		}
	case p.Grouped:
		wanted.hash = func(key int) uint64 {
			hash.call()
			return p.hashOf(key)
		}
	}
	return wanted
}

// newActor returns an actor with its own random source and records.
func (r *round) newActor() *actor {
	number := len(r.actors)
	a := &actor{round: r, dice: dice{r.plan.Seed<<16 + uint64(number)}}
	a.recorder.actor = int32(number)
	for _, key := range watchedKeys {
		a.budget[key].adds = addsOfWatched / (r.plan.Producers + r.plan.Consumers)
		if number <= r.plan.Consumers+2 { // two of the producers, after the opening's
			a.budget[key].delays = delaysOfWatched / 2
		}
	}
	a.stale = r.newStaleClaims()
	r.actors = append(r.actors, a)
	return a
}

// outcome is the result of a round.
type outcome struct {
	violations []Violation
	account    *account
}

// run runs the plan and compares the records. It also checks the process: data
// races, and memory that is left after the round.
func (p Plan) run(target Target, w *watchdog) outcome {
	races := raceErrors()
	if w.idle == 0 {
		w.idle = heap()
	}
	result := p.play(target, w)
	if v := dataRaces(races, raceErrors()); v != nil {
		result.violations = append([]Violation{*v}, result.violations...)
	}
	if len(result.violations) > 0 || leftOver(w.idle, collected()) == nil {
		return result
	}
	if v := leftOver(w.idle, settled(w.idle+mostLeft)); v != nil {
		result.violations = []Violation{*v}
	}
	return result
}

// play is the part of run that belongs to the round.
func (p Plan) play(target Target, w *watchdog) outcome {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(p.Processors))
	r := newRound(p, target, &w.progress)
	w.current.Store(r)
	defer w.current.Store(nil)
	account := r.play(target)
	r.violated.explain(r.explain)
	return outcome{r.violated.all(), account}
}

func (r *round) play(target Target) *account {
	if r.plan.Ending == Small {
		return r.smallQueues(target)
	}
	r.tryGroups(target)
	if r.open(); r.violated.stopped.Load() {
		r.queue.ShutDown()
		return r.sum()
	}
	if s, ok := r.queue.stats(); ok {
		r.overCapacity = s.OverCapacity
	}
	stop := r.start()
	r.end()
	stop()
	return r.settle()
}

// dataRaces compares two counts of data races.
func dataRaces(before, after int) *Violation {
	if after <= before {
		return nil
	}
	return &Violation{Clause: "data race", Key: -1, Message: fmt.Sprintf("the race detector has reported %d; see above", after-before)}
}

// start starts all actors. It returns a function that stops those that do not
// stop at the ending.
func (r *round) start() (stop func()) {
	p := r.plan
	var ways []func()
	ended := make(chan struct{})
	var others sync.WaitGroup
	if p.Mix.Has(Workers) {
		r.pool = r.newWorkerPool()
		r.consumers.Go(r.pool.work)
		others.Go(func() { r.pool.change(ended) })
	} else {
		for range p.Consumers {
			c := &consumer{actor: r.newActor()}
			r.consumers.Add(1)
			ways = append(ways, func() { go c.run() })
		}
	}
	for range p.Producers {
		a := r.newActor()
		one := &producer{actor: a, zipf: rand.NewZipf(rand.New(&a.dice), 1.1, 1, uint64(p.Keys-1))}
		ways = append(ways, func() { r.producers.Go(func() { one.produce(p.Adds / p.Producers) }) })
	}
	if p.Mix.Has(Observers) {
		a := r.newActor()
		ways = append(ways, func() { others.Go(func() { a.observe(ended) }) })
	}
	if p.Mix.Has(Ages) {
		a := r.newActor()
		ways = append(ways, func() { others.Go(func() { a.inspect(ended) }) })
	}
	if p.Mix.Has(Metrics) {
		a := r.newActor()
		ways = append(ways, func() { others.Go(func() { a.scrape(ended) }) })
	}
	if p.Mix.Has(Groups) {
		a := r.newActor()
		ways = append(ways, func() { others.Go(func() { a.inspectGroups(ended) }) })
	}
	if r.fake != nil {
		a := r.newActor()
		ways = append(ways, func() { others.Go(func() { a.step(ended) }) })
	}
	if r.gates != nil {
		a := r.newActor()
		r.meterGroups()
		ways = append(ways, func() { others.Go(func() { a.keepGates(ended) }) })
	}
	for _, begin := range ways {
		begin()
	}
	return func() { close(ended); others.Wait() }
}

// observe calls Len, Stats and NumRequeues, and checks bounds.
func (a *actor) observe(until <-chan struct{}) {
	for !closed(until) {
		a.operations += 2
		if n := a.queue.Len(); n < 0 || n > a.plan.Keys {
			a.violated.report("C6", -1, "Len is %d, with %d keys in use", n, a.plan.Keys)
		}
		if s, ok := a.queue.stats(); ok && (s.Ready < 0 || s.Delayed < 0 || s.Processing < 0 ||
			s.Ready+s.Processing > a.plan.Keys || s.Delayed > a.plan.Keys) {
			a.violated.report("C6", -1, "Stats is %+v, with %d keys in use", s, a.plan.Keys)
		}
		pause()
	}
}

// step moves the fake clock on.
func (a *actor) step(until <-chan struct{}) {
	for !closed(until) {
		a.fake.Step(time.Duration(a.roll(longestStep)) * time.Microsecond)
		a.steppedTo.Store(a.fake.Now().UnixNano())
		pause()
	}
}

// longestStep is the longest step of a fake clock, in microseconds.
const longestStep = 1000

// pause yields the processor for a moment. Nothing depends on how long.
func pause() { time.Sleep(50 * time.Microsecond) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// describe describes the queue and the records, for the watchdog.
func (r *round) describe() string {
	text := fmt.Sprintf("%v\nLen %d, ShuttingDown %t", r.plan, r.queue.Len(), r.queue.ShuttingDown())
	if s, ok := r.queue.stats(); ok {
		text += fmt.Sprintf("\nStats %+v", s)
	}
	if r.ledger != nil {
		owned, unserved := 0, 0
		for key := range r.ledger.keys {
			k := &r.ledger.keys[key]
			owned += int(k.owned.Load())
			if k.unserved() {
				unserved++
			}
		}
		text += fmt.Sprintf("\n%d keys in flight, %d keys with adds that no run has served", owned, unserved)
	}
	return text
}
