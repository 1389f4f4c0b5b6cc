package harness

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Workers of a worker.Pool, in place of loops of Get and Done (C49 to C52).
// Their number changes all the time, they end and others begin, and their
// handlers fail in every way. The ledger records the calls of handlers and
// hooks.
//
// Only free keys fail, and only while workers may add with a delay. A key of
// another class is used once, because its Done, after which it could be used
// again, is invisible.

// unfitForWorkers are the ingredients that rounds with workers leave out.
// Workers do not count the panics of the hash function. With a fake clock, the
// start of the last backoff is invisible. Claims need the round's own loops.
const unfitForWorkers = Panics | Steps | Claims

// runner has the methods of [worker.Pool].
type runner interface {
	Run(ctx context.Context) error
	Resize(n int)
	Len() int
}

// workerPool is the workers of a round.
type workerPool struct {
	*round
	dice     dice // of the goroutine that changes the pool
	most     int
	handlers chan *consumer // records and random sources that handlers borrow
	others   *actor         // for calls that belong to no handler
	running  atomic.Int64   // the number of running handlers
	current  atomic.Pointer[poolRun]
	// attempts is MaxAttempts, or 0.
	attempts int
	inBatch  int // the size of batches, or 0
	// calls has for each key the stamp of the ClaimBatch that returned it, if
	// there is a ledger. Otherwise it would order the operations.
	calls []atomic.Int64
	// owed reports for each key whether it must run again, or be passed to a
	// hook.
	owed []atomic.Bool

	succeeded, failed, permanent, requeued atomic.Uint64 // by the results of handlers
	reported, exhausted                    atomic.Uint64 // by the calls of OnError
	discarded, tooLate, neverRequeued      atomic.Uint64 // by the calls of OnDiscard
}

// A poolRun is one Run.
type poolRun struct {
	runner
	end context.CancelFunc
}

func (r *round) newWorkerPool() *workerPool {
	c := &workerPool{round: r, most: r.plan.Consumers + 1, owed: make([]atomic.Bool, r.plan.Keys)}
	c.calls = make([]atomic.Int64, r.plan.Keys)
	c.handlers = make(chan *consumer, 2*c.most)
	for range cap(c.handlers) {
		c.handlers <- &consumer{actor: r.newActor()}
	}
	c.others = r.newActor()
	c.dice = dice{r.plan.Seed ^ 0x9e3779b97f4a7c15}
	if c.dice.chance(2) {
		c.attempts = 3
	}
	if r.plan.Mix.Has(Batches) && c.dice.chance(2) {
		c.inBatch = 1 + c.dice.roll(100)
	}
	return c
}

// work makes one Run after the other until the queue is shut down.
func (c *workerPool) work() {
	leaver := leaver{}
	for c.runPool() || leaver.outlasts(c.round) {
	}
	c.current.Store(nil)
	c.settleRecords()
}

// runPool makes one Run. It reports whether another one should follow.
func (c *workerPool) runPool() bool {
	workers, err := c.queue.newPool(c.options(), c.claimed)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(c.context)
	defer cancel()
	c.current.Store(&poolRun{workers, cancel})
	err = workers.Run(ctx)
	switch {
	case err != nil:
		c.violated.report("C49", -1, "Run without a drain returns %v", err)
	case c.running.Load() != 0:
		c.violated.report("C49", -1, "Run has returned while handlers run")
	case workers.Len() != 0:
		c.violated.report("C49", -1, "Run has returned, and there are %d workers", workers.Len())
	case ctx.Err() == nil && !c.queue.ShuttingDown():
		c.violated.report("C49", -1, "Run has returned, and neither its context nor the queue had ended")
	}
	return ctx.Err() != nil || !c.queue.ShuttingDown()
}

func (c *workerPool) options() worker.Options[int] {
	o := worker.Options[int]{
		Workers: c.plan.Consumers, MaxAttempts: c.attempts, OnError: c.onError, OnDiscard: c.onDiscard,
	}
	if c.inBatch > 0 {
		o.BatchSize, o.HandleBatch = c.inBatch, c.handleBatch
	} else {
		o.Handle = c.handle
	}
	return o
}

// change resizes the pool, and ends Runs, until the round has ended.
func (c *workerPool) change(until <-chan struct{}) {
	for !closed(until) {
		if s := c.current.Load(); s != nil {
			s.Resize(c.dice.roll(c.most + 1))
			if c.dice.chance(50) {
				s.end()
			}
		}
		pause()
	}
}

// An answer is the result of a handler for a key.
type answer int

const (
	dies answer = iota // by a panic, or runtime.Goexit
	succeeds
	fails
	failsForGood
	requeues
)

var (
	errFails     = errors.New("a handler fails on purpose")
	errPermanent = worker.Permanent(errors.New("a handler fails for good on purpose"))
)

// handle is the handler of single keys.
func (c *workerPool) handle(_ context.Context, key int) error {
	handler := c.begin()
	defer c.end(handler)
	if handler.strange(key) {
		return nil
	}
	c.took(handler, key)
	does := dies
	defer func() { c.returns(handler, key, does) }()
	handler.work(key)
	does = handler.answer(key)
	return handler.errorOf(does)
}

// handleBatch is the handler of batches. It does not die, because then all keys
// would fail, and some may not fail.
func (c *workerPool) handleBatch(_ context.Context, keys []int) []error {
	handler := c.begin()
	defer c.end(handler)
	for _, key := range keys {
		if !handler.strange(key) {
			c.took(handler, key)
		}
	}
	errs := make([]error, len(keys))
	for i, key := range keys {
		if key >= c.plan.Keys {
			continue
		}
		handler.work(key)
		does := handler.answer(key)
		errs[i] = handler.errorOf(does)
		c.returns(handler, key, does)
	}
	return errs
}

func (c *workerPool) begin() *consumer {
	c.running.Add(1)
	return <-c.handlers
}

func (c *workerPool) end(handler *consumer) {
	c.handlers <- handler
	c.running.Add(-1)
}

// took records that a handler was called with a key.
func (c *workerPool) took(handler *consumer, key int) {
	handler.sign()
	c.owed[key].Store(false)
	handler.took(event{operation: opGet, call: c.calls[key].Load(), end: now()}, key)
}

// returns records the result of a handler before the workers see it.
func (c *workerPool) returns(handler *consumer, key int, does answer) {
	handler.endInLedger(key)
	handler.dones++
	handler.sign()
	switch does {
	case succeeds:
		c.succeeded.Add(1)
	case requeues:
		c.requeued.Add(1)
		c.owed[key].Store(true)
	case failsForGood:
		c.failed.Add(1)
		c.permanent.Add(1)
	default:
		c.failed.Add(1)
		c.owed[key].Store(true)
	}
}

// mayFail reports whether a key may run again.
func (c *consumer) mayFail(key int) bool {
	return (c.ledger == nil || classOf(key) == free) && !c.delays.ended.Load()
}

func (c *consumer) mayDie(key int) bool {
	return !c.has(Workers) || c.pool.inBatch == 0 && c.mayFail(key)
}

func (c *consumer) answer(key int) answer {
	if c.mayFail(key) && c.chance(8) {
		return fails + answer(c.roll(3))
	}
	return succeeds
}

func (c *consumer) errorOf(does answer) error {
	switch does {
	case fails:
		return fmt.Errorf("wrapped: %w", errFails)
	case failsForGood:
		return errPermanent
	case requeues:
		return worker.RequeueAfter(time.Duration(1 + c.roll(int(longestDelay))))
	default:
		return nil
	}
}

// onError is the hook.
func (c *workerPool) onError(_ context.Context, f worker.Failure[int]) {
	c.reported.Add(1)
	if f.Attempt < 1 || f.Err == nil {
		c.violated.report("C50", f.Item, "OnError was called with %+v", f)
	}
	if panicked, is := errors.AsType[*worker.PanicError](f.Err); is && panicked.Value != workerPanics {
		c.violated.report("C50", f.Item, "a handler panicked: %v", panicked)
	}
	if c.attempts > 0 && f.Attempt >= c.attempts && !errors.Is(f.Err, errPermanent) {
		c.exhausted.Add(1)
	}
}

// onDiscard is the hook.
func (c *workerPool) onDiscard(_ context.Context, f worker.Failure[int]) {
	c.owed[f.Item].Store(false)
	late := errors.Is(f.Err, shardq.ErrShutDown)
	_, panicked := errors.AsType[*worker.PanicError](f.Err)
	failed := panicked || errors.Is(f.Err, errFails) || errors.Is(f.Err, worker.ErrGoexit)
	switch {
	case late && !c.queue.ShuttingDown():
		c.violated.report("C50", f.Item, "key %d is discarded because of a shutdown, and there is none: %v", f.Item, f.Err)
	case late && failed:
		c.tooLate.Add(1)
	case late:
		c.neverRequeued.Add(1)
	default:
		c.discarded.Add(1)
	}
}

// settleRecords adds the calls of workers to the limiter and with a delay to
// the records. When an item is discarded because of a shutdown, the worker may
// notice before or after such a call.
func (c *workerPool) settleRecords() {
	a := &c.others.asked
	a.limited = c.failed.Load() - c.permanent.Load() - c.exhausted.Load() - c.tooLate.Load()
	a.perhapsLimited = c.tooLate.Load()
	a.forgets = c.succeeded.Load() + c.requeued.Load() + c.discarded.Load() + c.tooLate.Load()
	a.perhapsForgets = c.neverRequeued.Load()
	a.deferred = c.failed.Load() + c.requeued.Load()
}

// checkWorkers is called after all actors have left.
func (r *round) checkWorkers() {
	c := r.pool
	if c == nil {
		return
	}
	if reported, failed := c.reported.Load(), c.failed.Load(); reported != failed {
		r.violated.report("C50", -1, "handlers failed %d times, and OnError was called %d times", failed, reported)
	}
	if n, want := c.discarded.Load(), c.permanent.Load()+c.exhausted.Load(); n != want {
		r.violated.report("C50", -1, "OnDiscard was called for %d keys, and %d had to be discarded", n, want)
	}
	if r.plan.dropsDelays() || r.plan.Mix.Has(Cancels) {
		return // an item that should run again may have been canceled or dropped
	}
	for key := range c.owed {
		if c.owed[key].Load() {
			r.violated.report("C50", key, "key %d did not run again after a failure or a RequeueAfter", key)
		}
	}
}
