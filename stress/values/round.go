package values

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/stress/report"
	"github.com/shardq/shardq/worker"
)

// A stamp identifies a value: the n-th of its producer. A value has all stamps
// that were merged into it, in order. A pair is a key with its value.
type (
	stamp struct{ producer, n int }
	value = []stamp
	pair  = coalesce.Entry[int, value]
)

// A target is the Coalescer. A saboteur replaces some of its functions.
type target struct {
	*coalesce.Coalescer[int, value]
	Put, PutBack    func(key int, v value) error
	PutWith, TryPut func(key int, v value, o coalesce.PutOptions) error
	Take            func(ctx context.Context) (int, value, error)
	Cancel          func(key int) (value, bool)
	Drain           func(ctx context.Context, o shardq.DrainOptions) ([]pair, error)
	onDiscard       func(context.Context, worker.Failure[pair])
}

// A round is a plan in progress.
type round struct {
	Plan
	target  *target
	keys    []account
	found   report.Violations
	close   sync.Once
	context context.Context // of the pool
	stop    context.CancelFunc
	// produced is set when producers have ended, and opened when no pause begins
	// any more after that.
	produced, opened        atomic.Bool
	begun                   atomic.Int64
	merges, accepted, takes atomic.Uint64

	mu      sync.Mutex // guards the fields below
	dropped []pair
	seen    map[string]int // counts what has happened
}

// An account has what the round knows of a key.
type account struct {
	holders   atomic.Int32
	processed value // the worker with the key writes it
	returned  value // likewise

	mu       sync.Mutex // guards the fields below
	begun    value      // everything that was put, or is
	put      value      // everything that was accepted
	tookBack value      // what Cancels have returned, in no order
	canceled value      // everything that may have been in processing at a Cancel
}

// Play plays the round of a plan. It returns what it has counted, and an error
// with the violations. A round that hangs for patience ends the program.
func Play(p Plan, patience time.Duration) (report.Counts, error) {
	r := play(p, patience, func(*target) {})
	return report.Counts{Rounds: 1, Adds: uint64(p.producers * p.puts), HandOuts: r.takes.Load()}, r.found.Err()
}

func play(p Plan, patience time.Duration, spoil func(*target)) *round {
	r := &round{Plan: p, keys: make([]account, p.keys), seen: map[string]int{}}
	r.context, r.stop = context.WithCancel(context.Background())
	defer r.stop()
	c := coalesce.MustNew(p.options(r.merge))
	r.target = &target{c, c.Put, c.PutBack, c.PutWith, c.TryPut, c.Take, c.Cancel, c.Drain, r.discard}
	spoil(r.target)
	defer time.AfterFunc(max(patience, time.Minute), func() { panic(fmt.Sprintf("the round hangs: %v", p)) }).Stop()
	var producers, workers, keeper sync.WaitGroup
	if p.pool {
		workers.Go(r.runPools)
	}
	for i := range p.workers {
		if !p.pool {
			workers.Go(func() { r.work(i) })
		}
	}
	for i := range p.producers {
		producers.Go(func() { r.produce(i) })
	}
	keeper.Go(r.pause)
	producers.Wait()
	r.produced.Store(true)
	keeper.Wait()
	r.opened.Store(true)
	r.close.Do(r.end)
	workers.Wait()
	r.settle()
	return r
}

func (r *round) pause() {
	for r.pauses && !r.produced.Load() {
		time.Sleep(50 * time.Microsecond)
		r.target.Pause()
		runtime.Gosched()
		r.target.Resume()
	}
}

func (r *round) happened(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[what]++
}

var errMerge = errors.New("merge panics on purpose")

// merge makes a new value, so that the race detector sees other users of the
// old ones.
func (r *round) merge(pending, next value) value {
	if n := r.merges.Add(1); r.panics && n%(2+r.Seed%60) == 0 {
		panic(errMerge)
	}
	return append(append(make(value, 0, len(pending)+len(next)), pending...), next...)
}

func (r *round) guarded(do func()) (returned bool) {
	defer func() {
		cause := recover()
		if err, _ := cause.(error); errors.Is(err, errMerge) {
			r.happened("panic")
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
			r.close.Do(r.end)
		}
		key, one := dice.IntN(len(r.keys)), stamp{producer, n}
		account := &r.keys[key]
		var err error
		account.note(&account.begun, one)
		if !r.guarded(func() { err = r.put(dice, key, value{one}) }) || err != nil {
			r.happened("refusal")
			continue
		}
		r.accepted.Add(1)
		account.note(&account.put, one)
		if r.cancels && dice.IntN(8) == 0 {
			r.cancel(key)
		}
	}
}

func (r *round) cancel(key int) {
	account := &r.keys[key]
	var v value
	if r.guarded(func() { v, _ = r.target.Cancel(key) }) && len(v) > 0 {
		account.note(&account.tookBack, v...)
		r.happened("cancel")
	}
	account.mu.Lock()
	account.canceled = slices.Clone(account.begun)
	account.mu.Unlock()
}

func (a *account) note(all *value, more ...stamp) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*all = append(*all, more...)
}

func (r *round) put(dice *rand.Rand, key int, v value) error {
	o := coalesce.PutOptions{}
	if r.delays && dice.IntN(2) == 0 {
		delay, most := time.Duration(dice.IntN(3000)-500), time.Duration(dice.IntN(3000))
		o = coalesce.PutOptions{
			Delay: delay * time.Microsecond, Policy: shardq.DelayPolicy(dice.IntN(4)),
			MaxWait: most * time.Microsecond, Priority: dice.IntN(3),
		}
	}
	switch way := dice.IntN(5); {
	case way == 0:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(dice.IntN(2000))*time.Microsecond)
		defer cancel()
		return r.target.PutContext(ctx, key, v, o)
	case way == 1 || r.bounded:
		return r.target.TryPut(key, v, o)
	case way == 2:
		return r.target.PutWith(key, v, o)
	case way == 3:
		_, err := r.target.PutBatch([]pair{{Key: key, Value: v}}, o)
		return err
	}
	return r.target.Put(key, v)
}

func (r *round) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	switch {
	case r.pool && r.Seed%2 == 0:
		r.stop() // the pool drains it, or leaves the rest
	case !r.drains:
		r.target.ShutDown()
	default:
		dropped, err := r.target.Drain(ctx, r.drain)
		r.drop(dropped)
		if err != nil {
			r.target.ShutDown() // otherwise workers would wait for another Drain
		}
	}
}

// drop records what a drain has dropped. A worker may still have an older value
// of the key, so that settle adds it to the account.
func (r *round) drop(dropped []pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped = append(r.dropped, dropped...)
}

// settle compares the accounts after all goroutines have ended.
func (r *round) settle() {
	dropped, err := r.target.Drain(context.Background(), shardq.DrainOptions{})
	for _, p := range append(r.dropped, dropped...) {
		r.seen["drop"]++
		r.keys[p.Key].processed = append(r.keys[p.Key].processed, p.Value...)
	}
	for key := range r.keys {
		r.checkKey(key)
	}
	s, v := r.target.Stats(), r.target.Stats().Values
	if err != nil || v.Keys != 0 || v.Weight != 0 || s.Held != 0 || s.Misused != 0 || v.Put != r.accepted.Load() ||
		v.Merged > v.Put || r.bounded && v.OverCapacity != 0 {
		r.found.Add("at the end, after %d puts, %+v %+v (%v)", r.accepted.Load(), s, v, err)
	}
}

func (r *round) checkKey(key int) {
	account, missing, last := &r.keys[key], map[stamp]bool{}, map[int]int{}
	for _, s := range account.put {
		missing[s] = true
	}
	for i, s := range append(account.processed, account.tookBack...) {
		r.found.If(!missing[s], "key %d: %v was taken twice, or was refused", key, s)
		delete(missing, s)
		if n, known := last[s.producer]; known && n > s.n && i < len(account.processed) {
			r.found.Add("key %d: %v was taken after the %d-th of its producer", key, s, n)
		}
		last[s.producer] = s.n
	}
	for _, s := range account.canceled { // a pool also releases values that no handler has seen
		if r.pool || slices.Contains(account.returned, s) {
			delete(missing, s)
		}
	}
	for s := range missing {
		r.found.Add("key %d: %v is lost", key, s)
	}
}
