package worker

import (
	"context"
	"errors"
	"runtime/pprof"
	"strconv"
)

// A worker runs in one goroutine, or in several one after the other: if user
// code calls runtime.Goexit, another goroutine continues.
type worker[T any] struct {
	pool    *Pool[T]
	labeled context.Context // the handlers' context, with the worker's pprof label
	stays   context.Context // ends when the worker must leave, or all must
	leave   context.CancelFunc
	batch   batch[T] // for HandleBatch
	number  int      // the value of the label "worker"
	// The worker's slot in the source, if it has slots.
	slotted   bool // OpenSlot was called
	show      func(items []T)
	closeSlot func()
	shown     [1]T
	watch     stopwatch
	reports   bool // an owner of the claims wants reports of attempts
	late      bool // Options.Timeout has ended the attempt that has just failed
	known     knownOwner[T]
	// due is the error that Run returns: the source returned it together with
	// claims, which are processed first, or it says what is wrong with them.
	due   error
	claim [1]Claim[T] // of Handle: a field, because copying a claim costs some nanoseconds
	more  bool        // the end of the last claim has made it the next one
}

func newWorker[T any](pool *Pool[T]) *worker[T] {
	w := &worker[T]{pool: pool, labeled: context.WithValue(pool.context, poolKey{}, pool.context), number: pool.started}
	w.stays, w.leave = context.WithCancel(pool.context)
	return w
}

// openSlot is called by the worker itself, so no lock is held, and a panic is the
// worker's. If OpenSlot does not return, it is not called again.
func (w *worker[T]) openSlot() {
	if w.slotted {
		return
	}
	w.slotted = true
	defer func() {
		if w.pool.options.AbandonAfter > 0 {
			w.show = w.noting(w.show)
		}
		if w.pool.options.Labels {
			w.labeled = pprof.WithLabels(w.labeled, pprof.Labels("worker", strconv.Itoa(w.number)))
		}
	}()
	if slots, is := part[Slots[T]](w.pool.source); is {
		w.number, w.show, w.closeSlot = slots.OpenSlot()
	}
}

func (w *worker[T]) live() {
	returned, shutDown := false, false
	defer func() {
		switch r := recover(); {
		case r != nil:
			w.pool.fail(panicError(r), nil)
		case !returned:
			go w.live() // runtime.Goexit ends this goroutine
			return
		}
		w.leave()
		defer w.pool.hasLeft(w, shutDown) // whatever closeSlot does
		defer w.pool.catch()
		if w.closeSlot != nil {
			w.closeSlot()
		}
	}()
	w.openSlot()
	w.setLabels()
	shutDown = w.work()
	returned = true
}

// setLabels labels the goroutine again: a handler may have changed its labels.
func (w *worker[T]) setLabels() {
	if w.pool.options.Labels {
		pprof.SetGoroutineLabels(w.labeled)
	}
}

// work processes items until the worker must leave. It reports whether the
// source is shut down and has nothing ready.
func (w *worker[T]) work() (shutDown bool) {
	for {
		err := w.turn(w.stays)
		if err != nil && w.mustStay(err) {
			err = w.turn(w.pool.context)
		}
		switch {
		case err == nil:
			continue
		case w.due != nil:
			w.pool.fail(nil, w.due)
		case errors.Is(err, ErrShutDown):
			return true
		case !w.isEnd(err):
			w.pool.fail(nil, err)
		}
		return false
	}
}

// mustStay reports whether a worker that was asked to leave must stay. The race
// would be this: a shutdown begins, and all other workers find nothing ready
// and leave. This worker's item becomes ready again at the end of its claim. If
// it left now, a drain would wait for that item forever. Before a shutdown, the
// workers that stay take the item.
func (w *worker[T]) mustStay(err error) bool {
	source, is := w.pool.source.(endingSource)
	return is && w.isEnd(err) && !errors.Is(err, ErrShutDown) && source.ShuttingDown()
}

// isEnd reports whether an error of the source says that the worker's context
// has ended. A source may fail in another way at that time.
func (w *worker[T]) isEnd(err error) bool {
	return isEndOf(w.stays, err) || isEndOf(w.pool.context, err)
}

func isEndOf(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

func (w *worker[T]) turn(ctx context.Context) error {
	if w.pool.options.HandleBatch != nil {
		return w.turnOfBatch(ctx)
	}
	if w.more {
		w.more = false
		w.process(&w.claim[0])
		return nil
	}
	n, err := w.take(ctx, w.claim[:])
	if n > 0 {
		w.process(&w.claim[0])
	}
	return err
}

// done ends a claim of Handle. A worker that stays asks the source for the next
// item at once: one hold of a lock does both.
func (w *worker[T]) done(claim *Claim[T]) {
	if w.pool.next == nil || w.due != nil || w.stays.Err() != nil || w.pool.context.Err() != nil {
		w.pool.ended(claim.Done())
		return
	}
	more, err := w.pool.next(claim)
	w.more = more
	w.pool.ended(err)
}

// process settles the item even if the handler ends the goroutine.
func (w *worker[T]) process(claim *Claim[T]) {
	w.setLabels()
	result := outcome{err: ErrGoexit} // unless try returns
	defer func() {
		defer func() {
			if !w.more {
				*claim = Claim[T]{} // nothing refers to an item after its claim
			}
		}()
		switch {
		case result.err != nil:
			w.finish(*claim, result)
		case w.reports || w.pool.failing.Load():
			w.succeed(claim)
		default:
			w.done(claim)
		}
	}()
	defer w.handled()
	w.reports = w.known.reporterOf(&claim.owner) != nil
	w.watch.start(w.reports || w.pool.timed)
	result = w.try(claim.Item)
}

func (w *worker[T]) succeed(claim *Claim[T]) {
	reported := false
	defer func() {
		if !reported {
			w.pool.ended(claim.Done())
		}
	}()
	w.reportSuccess(claim)
	reported = true
	w.done(claim)
}

// handled is called when the handler has ended, before claims end, because
// afterwards another worker may have the items.
func (w *worker[T]) handled() {
	w.watch.stop()
	if w.show != nil {
		clear(w.shown[:])
		w.show(nil)
	}
}

func (w *worker[T]) try(item T) (result outcome) {
	returned := false
	defer func() {
		if !returned {
			result = outcomeOfPanic(recover())
		}
	}()
	if w.show != nil {
		w.shown[0] = item
		w.show(w.shown[:])
	}
	if err := w.handle(item); err != nil {
		result = outcomeOf(w.pool.context, err, w.late)
	}
	returned = true
	return result
}

// finish settles an item that did not succeed, even if user code panics.
func (w *worker[T]) finish(claim Claim[T], result outcome) {
	a := w.attempt(claim, result)
	defer func() {
		if !a.settled {
			w.pool.ended(a.claim.Done())
		}
	}()
	w.pool.settle(a)
}

func (w *worker[T]) attempt(claim Claim[T], result outcome) *attempt[T] {
	return &attempt[T]{claim: claim, outcome: result, took: w.watch.took, worker: w.number}
}
