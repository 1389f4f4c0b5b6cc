package harness

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Workers of NewWorkers, in place of loops of Get and Done (C49 to C52). Their
// number changes all the time, they end and others begin, and their handlers
// fail in every way. The ledger records the calls of handlers and hooks.
//
// Only free keys fail, and only while workers may add with a delay. A key of
// another class is used once, because its Done, after which it could be used
// again, is invisible.

// unfitForWorkers are the ingredients that rounds with workers leave out.
// Workers do not count the panics of the hash function. With a fake clock, the
// start of the last backoff is invisible. Claims need the round's own loops.
const unfitForWorkers = Panics | Steps | Claims

// staff has the methods of [shardq.Workers].
type staff interface {
	Run(ctx context.Context) error
	Resize(n int)
	Len() int
}

// crew is the workers of a round.
type crew struct {
	*round
	dice     dice // of the goroutine that changes the crew
	most     int
	hands    chan *consumer // records and random sources that handlers borrow
	books    *actor         // for calls that belong to no handler
	underWay atomic.Int64   // the number of running handlers
	shift    atomic.Pointer[shift]
	// attempts is MaxAttempts, or 0.
	attempts int
	inBatch  int // the size of batches, or 0
	// owed reports for each key whether it must come again, or be passed to a
	// hook.
	owed []atomic.Bool

	succeeded, failed, permanent, requeued atomic.Uint64 // by the results of handlers
	reported, exhausted                    atomic.Uint64 // by the calls of OnError
	givenUp, tooLate, neverRequeued        atomic.Uint64 // by the calls of OnGiveUp
}

// A shift is one Run.
type shift struct {
	staff
	end context.CancelFunc
}

func (r *round) newCrew() *crew {
	c := &crew{round: r, most: r.plan.Consumers + 1, owed: make([]atomic.Bool, r.plan.Keys)}
	c.hands = make(chan *consumer, 2*c.most)
	for range cap(c.hands) {
		c.hands <- &consumer{r.newActor()}
	}
	c.books = r.newActor()
	c.dice = dice{r.plan.Seed ^ 0x9e3779b97f4a7c15}
	if c.dice.chance(2) {
		c.attempts = 3
	}
	if r.plan.Mix.Has(Batches) && c.dice.chance(2) {
		c.inBatch = 1 + c.dice.roll(100)
	}
	return c
}

// work runs one shift after the other until the queue is shut down.
func (c *crew) work() {
	for c.workShift() {
	}
	c.shift.Store(nil)
	c.settleBooks()
}

// workShift runs a shift. It reports whether another one should follow.
func (c *crew) workShift() bool {
	workers, err := c.queue.newWorkers(c.options())
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(c.context)
	defer cancel()
	c.shift.Store(&shift{workers, cancel})
	err = workers.Run(ctx)
	switch {
	case err != nil:
		c.violated.report("C49", -1, "Run without a drain returns %v", err)
	case c.underWay.Load() != 0:
		c.violated.report("C49", -1, "Run has returned while handlers run")
	case workers.Len() != 0:
		c.violated.report("C49", -1, "Run has returned, and there are %d workers", workers.Len())
	case ctx.Err() == nil && !c.queue.ShuttingDown():
		c.violated.report("C49", -1, "Run has returned, and neither its context nor the queue had ended")
	}
	return ctx.Err() != nil || !c.queue.ShuttingDown()
}

func (c *crew) options() shardq.WorkerOptions[int] {
	o := shardq.WorkerOptions[int]{
		Workers: c.plan.Consumers, MaxAttempts: c.attempts, OnError: c.onError, OnGiveUp: c.onGiveUp,
	}
	if c.inBatch > 0 {
		o.BatchSize, o.HandleBatch = c.inBatch, c.handleBatch
	} else {
		o.Handle = c.handle
	}
	return o
}

// change resizes the crew, and ends shifts, until the round has ended.
func (c *crew) change(until <-chan struct{}) {
	for !closed(until) {
		if s := c.shift.Load(); s != nil {
			s.Resize(c.dice.roll(c.most + 1))
			if c.dice.chance(50) {
				s.end()
			}
		}
		breathe()
	}
}

// An answer is the result of a handler for a key.
type answer int

const (
	dies answer = iota // by a panic, or runtime.Goexit
	succeeds
	fails
	givesUp
	requeues
)

var (
	errFails   = errors.New("a handler fails on purpose")
	errGivesUp = shardq.Permanent(errors.New("a handler gives up on purpose"))
)

// handle is the handler of single keys.
func (c *crew) handle(_ context.Context, key int) error {
	hand := c.begin()
	defer c.end(hand)
	if hand.strange(key) {
		return nil
	}
	c.came(hand, key)
	does := dies
	defer func() { c.goes(hand, key, does) }()
	hand.work(key)
	does = hand.answer(key)
	return hand.errorOf(does)
}

// handleBatch is the handler of batches. It does not die, because then all keys
// would fail, and some may not fail.
func (c *crew) handleBatch(_ context.Context, keys []int) []error {
	hand := c.begin()
	defer c.end(hand)
	for _, key := range keys {
		if !hand.strange(key) {
			c.came(hand, key)
		}
	}
	errs := make([]error, len(keys))
	for i, key := range keys {
		if key >= c.plan.Keys {
			continue
		}
		hand.work(key)
		does := hand.answer(key)
		errs[i] = hand.errorOf(does)
		c.goes(hand, key, does)
	}
	return errs
}

func (c *crew) begin() *consumer {
	c.underWay.Add(1)
	return <-c.hands
}

func (c *crew) end(hand *consumer) {
	c.hands <- hand
	c.underWay.Add(-1)
}

// came records that a key has come.
func (c *crew) came(hand *consumer, key int) {
	hand.sign()
	c.owed[key].Store(false)
	hand.took(event{operation: opGet, end: now()}, key)
}

// goes records the result of a handler before the workers see it.
func (c *crew) goes(hand *consumer, key int, does answer) {
	hand.endInLedger(key)
	hand.dones++
	hand.sign()
	switch does {
	case succeeds:
		c.succeeded.Add(1)
	case requeues:
		c.requeued.Add(1)
		c.owed[key].Store(true)
	case givesUp:
		c.failed.Add(1)
		c.permanent.Add(1)
	default:
		c.failed.Add(1)
		c.owed[key].Store(true)
	}
}

// mayFail reports whether a key may come again.
func (c *consumer) mayFail(key int) bool {
	return (c.ledger == nil || classOf(key) == free) && !c.delays.ended.Load()
}

func (c *consumer) mayDie(key int) bool {
	return !c.has(Workers) || c.crew.inBatch == 0 && c.mayFail(key)
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
	case givesUp:
		return errGivesUp
	case requeues:
		return shardq.RequeueAfter(time.Duration(1 + c.roll(int(longestDelay))))
	default:
		return nil
	}
}

// onError is the hook.
func (c *crew) onError(f shardq.Failure[int]) {
	c.reported.Add(1)
	if f.Attempt < 1 || f.Err == nil {
		c.violated.report("C50", f.Item, "OnError was called with %+v", f)
	}
	if panicked, is := errors.AsType[*shardq.PanicError](f.Err); is && panicked.Value != workerLost {
		c.violated.report("C50", f.Item, "a handler panicked: %v", panicked)
	}
	if c.attempts > 0 && f.Attempt >= c.attempts && !errors.Is(f.Err, errGivesUp) {
		c.exhausted.Add(1)
	}
}

// onGiveUp is the hook.
func (c *crew) onGiveUp(f shardq.Failure[int]) {
	c.owed[f.Item].Store(false)
	late := errors.Is(f.Err, shardq.ErrShutDown)
	_, panicked := errors.AsType[*shardq.PanicError](f.Err)
	failed := panicked || errors.Is(f.Err, errFails) || errors.Is(f.Err, shardq.ErrGoexit)
	switch {
	case late && !c.queue.ShuttingDown():
		c.violated.report("C50", f.Item, "key %d is discarded because of a shutdown, and there is none: %v", f.Item, f.Err)
	case late && failed:
		c.tooLate.Add(1)
	case late:
		c.neverRequeued.Add(1)
	default:
		c.givenUp.Add(1)
	}
}

// settleBooks adds the calls of workers to the limiter and with a delay to the
// records. When an item is discarded because of a shutdown, the worker may
// notice before or after such a call.
func (c *crew) settleBooks() {
	a := &c.books.asked
	a.limited = c.failed.Load() - c.permanent.Load() - c.exhausted.Load() - c.tooLate.Load()
	a.perhapsLimited = c.tooLate.Load()
	a.forgets = c.succeeded.Load() + c.requeued.Load() + c.givenUp.Load() + c.tooLate.Load()
	a.perhapsForgets = c.neverRequeued.Load()
	a.deferred = c.failed.Load() + c.requeued.Load()
}

// checkCrew is called after all actors have left.
func (r *round) checkCrew() {
	c := r.crew
	if c == nil {
		return
	}
	if reported, failed := c.reported.Load(), c.failed.Load(); reported != failed {
		r.violated.report("C50", -1, "handlers failed %d times, and OnError was called %d times", failed, reported)
	}
	if n, want := c.givenUp.Load(), c.permanent.Load()+c.exhausted.Load(); n != want {
		r.violated.report("C50", -1, "OnGiveUp was called for %d keys, and %d had to be discarded", n, want)
	}
	if r.plan.dropsDelays() || r.plan.Mix.Has(Cancels) {
		return // an item that should come again may have been canceled or dropped
	}
	for key := range c.owed {
		if c.owed[key].Load() {
			r.violated.report("C50", key, "key %d did not come again after a failure or a RequeueAfter", key)
		}
	}
}
