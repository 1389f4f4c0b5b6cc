package values

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/stress/report"
)

// A round is a plan in progress.
type round struct {
	Plan
	target *target
	merges atomic.Uint64
	begun  atomic.Int64 // the puts that began
	close  sync.Once
	keys   []account
	tally  tally
	found  report.Violations
	// context is the context of the pool, and stop ends it.
	context context.Context
	stop    context.CancelFunc
	handed  atomic.Uint64 // the keys passed to the handler
	opened  atomic.Bool   // no pause will begin any more

	mu      sync.Mutex // guards the fields below
	dropped []pair
}

// An account has what the round knows of a key.
type account struct {
	holder    atomic.Int32 // the number of workers that have the key
	processed value        // everything that was processed; the worker with the key writes it

	mu       sync.Mutex // guards the fields below
	put      value      // everything that was accepted
	tookBack value      // everything that a Cancel returned, in no order
}

// A tally counts what a round has done.
type tally struct{ accepted, refused, takes, returned, panics, dropped, canceled, discarded atomic.Uint64 }

// errMerge is the value of a panic in Merge.
var errMerge = errors.New("merge panics on purpose")

// Play plays the round of a plan. It returns what it has counted, and an error
// with the faults. Patience is the time after which the round counts as hanging,
// and the program ends.
func Play(p Plan, patience time.Duration) (report.Counts, error) {
	t, err := play(p, patience, func(*target) {})
	accepted, takes := t.accepted.Load(), t.takes.Load()
	return report.Counts{Rounds: 1, Adds: accepted + t.refused.Load(), HandOuts: takes, Checks: 2*takes + accepted}, err
}

func play(p Plan, patience time.Duration, spoil func(*target)) (*tally, error) {
	r := &round{Plan: p, stop: func() {}}
	if r.run {
		r.context, r.stop = context.WithCancel(context.Background())
		defer r.stop()
	}
	r.keys = make([]account, r.Plan.keys)
	r.target = newTarget(coalesce.MustNew(r.options(r.merge)), r)
	spoil(r.target)
	watchdog := time.AfterFunc(max(patience, time.Minute), func() { panic(fmt.Sprintf("seed %d: the round hangs: %v", p.Seed, p)) })
	defer watchdog.Stop()
	var producers, workers, keeper sync.WaitGroup
	if r.run {
		workers.Go(r.runWorkers)
	} else {
		for i := range r.workers {
			workers.Go(func() { r.work(i) })
		}
	}
	for i := range r.producers {
		producers.Go(func() { r.produce(i) })
	}
	produced := make(chan struct{})
	if r.pauses {
		keeper.Go(func() { r.pause(produced) })
	}
	producers.Wait()
	close(produced)
	keeper.Wait()
	r.opened.Store(true)
	r.end()
	workers.Wait()
	r.settle()
	return &r.tally, r.found.Err()
}

// pause pauses and resumes until producers have ended.
func (r *round) pause(produced <-chan struct{}) {
	defer r.target.Resume()
	for {
		select {
		case <-produced:
			return
		case <-time.After(50 * time.Microsecond):
			r.target.Pause()
			runtime.Gosched()
			r.target.Resume()
		}
	}
}

// merge makes a new value, so that the race detector sees other users of the
// old ones.
func (r *round) merge(pending, next value) value {
	if n := r.merges.Add(1); r.panics > 0 && n%r.panics == 0 {
		panic(errMerge)
	}
	return append(append(make(value, 0, len(pending)+len(next)), pending...), next...)
}

// guarded calls do, and reports whether it returned without a panic.
func (r *round) guarded(do func()) (returned bool) {
	defer func() {
		cause := recover()
		if err, _ := cause.(error); errors.Is(err, errMerge) {
			r.tally.panics.Add(1)
		} else if cause != nil {
			panic(cause)
		}
	}()
	do()
	return true
}

func (r *round) produce(producer int) {
	dice := rand.New(rand.NewPCG(r.Seed, uint64(producer+1)))
	for n := range r.puts {
		if r.begun.Add(1) == r.closeAfter {
			r.end()
		}
		key := dice.IntN(len(r.keys))
		if r.cancels && dice.IntN(8) == 0 {
			r.cancel(key)
		}
		one := stamp{producer, n}
		var err error
		if r.guarded(func() { err = r.putOne(dice, key, value{one}) }) && err == nil {
			r.tally.accepted.Add(1)
			r.keys[key].mu.Lock()
			r.keys[key].put = append(r.keys[key].put, one)
			r.keys[key].mu.Unlock()
		} else {
			r.tally.refused.Add(1)
		}
	}
}

func (r *round) putOne(dice *rand.Rand, key int, v value) error {
	switch way := dice.IntN(4); {
	case way == 0:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(dice.IntN(2000))*time.Microsecond)
		defer cancel()
		return r.target.PutContext(ctx, key, v)
	case way == 1 || r.bounded:
		return r.target.TryPut(key, v)
	case way == 2 && r.delays:
		return r.target.PutWith(key, v, coalesce.PutOptions{
			Delay:    time.Duration(dice.IntN(3000)-500) * time.Microsecond,
			Policy:   shardq.DelayPolicy(dice.IntN(4)),
			MaxWait:  time.Duration(dice.IntN(3000)) * time.Microsecond,
			Priority: dice.IntN(3),
		})
	default:
		return r.target.Put(key, v)
	}
}

// cancel takes back the pending value of a key.
func (r *round) cancel(key int) {
	var v value
	var ok bool
	if r.guarded(func() { v, ok = r.target.Cancel(key) }) && ok {
		r.tally.canceled.Add(1)
		r.keys[key].mu.Lock()
		defer r.keys[key].mu.Unlock()
		r.keys[key].tookBack = append(r.keys[key].tookBack, v...)
	}
}

func (r *round) work(worker int) {
	dice := rand.New(rand.NewPCG(r.Seed, uint64(worker+1000)))
	dst := make([]pair, r.batch)
	for {
		opened := r.opened.Load()
		n, err := r.take(dice, dst)
		if errors.Is(err, shardq.ErrShutDown) {
			if opened {
				return
			}
			time.Sleep(50 * time.Microsecond) // what is paused may be left
		}
		for i := range dst[:n] {
			r.tally.takes.Add(1)
			if r.keys[dst[i].Key].holder.Add(1) != 1 {
				r.found.Add("two workers have key %d", dst[i].Key)
			}
		}
		r.deal(dice, dst[:n])
		if r.bounded {
			r.checkCapacity()
		}
	}
}

// take takes one key or several, or ends with its context, at random.
func (r *round) take(dice *rand.Rand, dst []pair) (n int, err error) {
	ctx := context.Background()
	if dice.IntN(8) == 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(dice.IntN(200))*time.Microsecond)
		defer cancel()
		ctx = short
	}
	r.guarded(func() {
		if dice.IntN(2) == 0 {
			n, err = r.target.TakeBatch(ctx, dst)
			return
		}
		if dst[0].Key, dst[0].Value, err = r.target.Take(ctx); err == nil {
			n = 1
		}
	})
	return n, err
}

// deal ends the processing of keys in a random way.
func (r *round) deal(dice *rand.Rand, taken []pair) {
	var done []pair
	for _, p := range taken {
		if r.retries && dice.IntN(4) == 0 && r.putBack(dice, p) {
			continue
		}
		r.keys[p.Key].processed = append(r.keys[p.Key].processed, p.Value...)
		r.keys[p.Key].holder.Add(-1)
		done = append(done, p)
	}
	if len(done) == 1 {
		r.target.Done(done[0].Key)
		return
	}
	r.target.DoneBatch(done)
}

// putBack returns a value, and reports whether the coalescer accepted it.
func (r *round) putBack(dice *rand.Rand, p pair) bool {
	r.keys[p.Key].holder.Add(-1)
	back := r.target.PutBack
	if dice.IntN(2) == 0 {
		back = r.target.Retry
	}
	if err := back(p.Key, p.Value); err != nil {
		if !errors.Is(err, shardq.ErrShutDown) {
			r.found.Add("a value is not taken back: %v", err)
		}
		r.keys[p.Key].holder.Add(1)
		return false
	}
	r.tally.returned.Add(1)
	return true
}

// checkCapacity checks the capacity if all puts honor it.
func (r *round) checkCapacity() {
	if stats := r.target.Stats(); r.capacity > 0 && stats.Values.Weight > r.capacity {
		r.found.Add("%d are pending, with a capacity of %d", stats.Values.Weight, r.capacity)
	}
}

// end ends the coalescer, once.
func (r *round) end() {
	r.close.Do(func() {
		if r.run && r.Seed%2 == 0 { // the pool drains it, or leaves the rest for settle
			r.stop()
			return
		}
		if r.ending == 3 {
			r.target.ShutDown()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		dropped, err := r.target.Drain(ctx, shardq.DrainOptions{Delayed: shardq.DelayedPolicy(r.ending)})
		r.drop(dropped)
		if err != nil {
			r.target.ShutDown() // otherwise workers would wait for another Drain
		}
	})
}

// drop records the values that a drain dropped. A worker may still have an
// older value of the key, so that they are added to the account at the end.
func (r *round) drop(dropped []pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped = append(r.dropped, dropped...)
}
