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

	producers sync.WaitGroup
	consumers sync.WaitGroup
	pool      *worker.Pool[int]
	endPool   context.CancelFunc
	idle      sync.Pool // the actors of handlers
	// opened is set when nothing will be paused again. Consumers that are told
	// of the shutdown leave after that.
	opened atomic.Bool
	// calm is set when consumers may only block.
	calm      atomic.Bool
	producing atomic.Int32 // the producers

	mu     sync.Mutex // guards actors
	actors []*actor
}

// An actor is a goroutine with its own dice and counters.
type actor struct {
	*round
	*rand.Rand
	late  *claim // one that has ended
	batch [mostBatch]claim
	// The atomics of an actor order nothing but the watchdog.
	adds, gets, withdrawn atomic.Uint64
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
	r := &round{plan: p, begun: runtime.NumGoroutine()}
	r.context, r.cancel = context.WithCancel(context.Background())
	defer r.cancel()
	r.ledger = ledger.New(p.keys, p.limits, &r.found)
	r.ledger.Blind = p.blind
	o := p.options(r.ledger)
	if s.options != nil {
		s.options(&o)
	}
	r.queue = newTarget(shardq.MustNew(o))
	if s.queue != nil {
		s.queue(r.queue)
	}
	round, over := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { r.watch(round, patience) })
	r.run()
	over()
	watch.Wait()
	r.settle()
	return report.Counts{Rounds: 1, Adds: r.sum(adds), HandOuts: r.sum(gets)}, r.found.Err()
}

func (r *round) run() {
	r.startConsumers()
	for range r.plan.waves - 1 {
		if r.wave()(); !r.found.Any() {
			r.rest()
		}
	}
	r.ledger.DropsDelayed.Store(r.plan.dropsDelayed())
	r.end(r.wave())
	if r.found.Any() {
		r.endAnyhow()
	}
	r.opened.Store(true)
	r.consumers.Wait()
}

func (r *round) wave() (ended func()) {
	wave, over := context.WithCancel(context.Background())
	keeper := r.newActor()
	var keeping sync.WaitGroup
	keeping.Go(func() { keeper.keep(wave) })
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
		over()
		keeping.Wait()
	}
}

func (r *round) watch(round context.Context, patience time.Duration) {
	last, since := uint64(0), time.Now()
	for ; round.Err() == nil; time.Sleep(5 * time.Millisecond) {
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
	r.resumeAll()
	r.opened.Store(true)
	r.queue.ShutDown()
	if r.endPool != nil {
		r.endPool()
	}
}

func yield() { time.Sleep(50 * time.Microsecond) }
