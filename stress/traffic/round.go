package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stress/ledger"
	"github.com/shardq/shardq/stress/report"
	"github.com/shardq/shardq/worker"
)

// A round is a plan in progress.
type round struct {
	plan   Plan
	queue  *target
	ledger *ledger.Ledger
	found  report.Violations
	// context ends when the round hangs.
	context context.Context
	cancel  context.CancelFunc
	begun   int // the goroutines at the beginning

	// fake is nil if the clock is real. A step holds stepping, and so do
	// sequences of adds between which no time may pass.
	fake     *clock.Fake
	stepping sync.RWMutex

	gates     *gates
	producers sync.WaitGroup
	consumers sync.WaitGroup
	helpers   sync.WaitGroup
	pool      *worker.Pool[int]
	endPool   context.CancelFunc
	// opened is set when no gate will be closed again. Consumers that are told
	// of the shutdown leave after that.
	opened atomic.Bool
	// calm is set when consumers may only block.
	calm atomic.Bool

	misused, discarded atomic.Uint64
	producing          atomic.Int32 // the producers
	high               atomic.Bool  // the last watermark
	marking            atomic.Int32 // the calls of Watermarks.On
	contests           atomic.Int64

	idle chan *actor // those of handlers

	mu     sync.Mutex // guards actors
	actors []*actor
}

// An actor is a goroutine with its own dice and counters.
type actor struct {
	*round
	*rand.Rand
	sight ledger.Sight
	late  []claim // some that have ended
	batch [mostBatch]claim
	// The atomics of an actor order nothing but the watchdog.
	adds, gets, withdrawn, cancels, misuses atomic.Uint64
}

const mostBatch = 6

func (r *round) newActor() *actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &actor{round: r, Rand: rand.New(rand.NewPCG(r.plan.Seed, uint64(len(r.actors)+1)))}
	r.actors = append(r.actors, a)
	return a
}

func (a *actor) chance(n int) bool { return a.IntN(n) == 0 }

func (a *actor) upTo(d time.Duration) time.Duration { return 1 + time.Duration(a.Int64N(int64(d))) }

func (r *round) sum(counter func(*actor) *atomic.Uint64) (n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.actors {
		n += counter(a).Load()
	}
	return n
}

func adds(a *actor) *atomic.Uint64      { return &a.adds }
func gets(a *actor) *atomic.Uint64      { return &a.gets }
func withdrawn(a *actor) *atomic.Uint64 { return &a.withdrawn }
func canceled(a *actor) *atomic.Uint64  { return &a.cancels }
func misuses(a *actor) *atomic.Uint64   { return &a.misuses }

func (r *round) clock() clock.Clock {
	if r.fake != nil {
		return r.fake
	}
	return clock.Real()
}

var realStart = time.Now()

func (r *round) now() int64 {
	return int64(r.clock().Now().Sub(realStart))
}

// Play plays the round of a plan. It returns what it has counted, and an error
// with the violations. Patience is the time after which a round in which nothing
// happens counts as hanging.
func Play(p Plan, patience time.Duration) (report.Counts, error) {
	return play(p, patience, saboteur{})
}

// A saboteur spoils the queue of a round, by its options or by a wrapper.
type saboteur struct {
	options func(*shardq.Options[int])
	queue   func(*target)
}

func play(p Plan, patience time.Duration, s saboteur) (report.Counts, error) {
	r := &round{plan: p, begun: runtime.NumGoroutine(), idle: make(chan *actor, 64)}
	r.context, r.cancel = context.WithCancel(context.Background())
	defer r.cancel()
	if p.has(fakeClock) {
		r.fake = clock.NewFake(realStart.Add(time.Hour))
	}
	r.gates = newGates(&p)
	r.ledger = ledger.New(p.keys, &r.found, r.now)
	if r.ledger.Blind = p.has(blind); !r.ledger.Blind {
		r.ledger.Order, r.ledger.Gates = p.newOrder(), r.gates.books
	}
	if p.strict && !r.ledger.Blind {
		r.ledger.Capacity = int64(p.capacity)
	}
	r.queue = newQueue(r, s)
	over := make(chan struct{})
	var keepers sync.WaitGroup
	keepers.Go(func() { r.watch(patience, over) })
	if r.fake != nil {
		keepers.Go(func() { r.step(over) })
	}
	r.run()
	r.checkShutDown() // it may hang
	close(over)
	keepers.Wait()
	r.settle()
	return report.Counts{Rounds: 1, Adds: r.sum(adds), HandOuts: r.sum(gets), Checks: r.ledger.Checks()}, r.found.Err()
}

func (r *round) run() {
	r.startConsumers()
	for wave := range r.plan.waves - 1 {
		if r.wave(wave)(); !r.found.Any() {
			r.rest()
		}
	}
	r.ledger.DropsDelayed.Store(r.plan.dropsDelayed())
	r.end(r.wave(r.plan.waves - 1))
	if r.found.Any() {
		r.endAnyhow()
	}
	r.opened.Store(true)
	r.consumers.Wait()
}

func (r *round) wave(number int) (ended func()) {
	stop := make(chan struct{})
	keeper, observer := r.newActor(), r.newActor()
	for target := range r.gates.rate {
		keeper.changeRate(target, 1, true) // before an add asks for a policy, which it may set later
	}
	r.helpers.Go(func() { keeper.keepGates(stop) })
	if r.plan.has(listings) {
		r.helpers.Go(func() { observer.observe(stop, number == r.plan.waves-1) })
	}
	for range r.plan.producers {
		a := r.newActor()
		r.producing.Add(1)
		r.producers.Go(func() {
			defer r.producing.Add(-1)
			a.produce(1 + r.plan.adds/r.plan.producers)
		})
	}
	return func() {
		r.producers.Wait()
		close(stop)
		r.helpers.Wait()
	}
}

func (r *round) step(over <-chan struct{}) {
	dice := rand.New(rand.NewPCG(r.plan.Seed, 1<<32))
	for !closed(over) {
		r.stepping.Lock()
		r.fake.Step(time.Duration(dice.Int64N(int64(2 * r.plan.tick))))
		r.stepping.Unlock()
		yield()
	}
}

func (r *round) watch(patience time.Duration, over <-chan struct{}) {
	last, since := uint64(0), time.Now()
	for ; !closed(over); time.Sleep(5 * time.Millisecond) {
		quiet := time.Since(since)
		if n := r.sum(adds) + r.sum(gets); n != last {
			last, since = n, time.Now()
		} else if quiet > patience && r.context.Err() == nil {
			s := r.queue.Stats()
			s.PerShard, s.Priorities = nil, nil
			r.found.Add("no lost wake-up: nothing has happened for %v: %+v", patience, s)
			r.endAnyhow()
		} else if quiet > 2*patience+10*time.Second {
			stacks := make([]byte, 1<<20)
			panic(fmt.Sprintf("%v\n%v\n%s", r.found.Err(), r.plan, stacks[:runtime.Stack(stacks, true)]))
		}
		if r.context.Err() != nil {
			r.queue.Queue.Resume()   // a saboteur may have lost the last one
			r.queue.Queue.ShutDown() // ends drains that began after endAnyhow, and whose consumers have left
		}
	}
}

func (r *round) endAnyhow() {
	r.cancel()
	r.openGates()
	r.opened.Store(true)
	r.queue.ShutDown()
	if r.endPool != nil {
		r.endPool()
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func yield() { time.Sleep(50 * time.Microsecond) }

func attempt(do func()) (panicked bool) {
	defer func() {
		cause := recover()
		if panicked = cause == error(errHostile); cause != nil && !panicked {
			panic(cause)
		}
	}()
	do()
	return false
}

func (r *round) onMisuse(m shardq.Misuse[int]) {
	if m.Item != stray {
		r.found.Add("exclusion: key %d was taken from its consumer before its Done", m.Item)
		return
	}
	if n := r.misused.Add(1); r.plan.has(panics) && n%3 == 0 {
		panic(errHostile)
	}
}

func (r *round) onWatermark(w shardq.Watermark) {
	r.found.If(r.marking.Add(1) > 1, "watermarks: Watermarks.On was called while it was being called")
	r.found.If(r.high.Swap(w.High) == w.High,
		"watermarks: Watermarks.On was called twice in a row with high=%t", w.High)
	r.marking.Add(-1)
}
