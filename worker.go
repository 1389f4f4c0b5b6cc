package shardq

import (
	"context"
	"errors"
	"runtime/pprof"
	"strconv"
)

// A worker is one of the goroutines of [Workers], or several one after the other: if user
// code calls runtime.Goexit, the next one goes on in its place.
type worker[T any] struct {
	*Workers[T]
	// labeled is the handlers' context, with the label of this worker if there are labels.
	labeled context.Context
	// stays ends when the worker is to leave, or all are.
	stays context.Context
	leave context.CancelFunc
	batch batch[T] // of HandleBatch
	// number is that of the label "worker".
	number int
	placed bool // was the source's Hire called?
	// showing shows what is in hand, if it is not nil.
	showing   func(items []T)
	leaveDesk func() // or nil
	shown     [1]T
	// due is the error that Run is to return: what the source returned beside claims, which
	// are to be processed first, or what is wrong with them.
	due error
	// claim is that of Handle. It is here because sources write to it, and because to
	// copy a claim costs some nanoseconds.
	claim [1]Claim[T]
}

func newWorker[T any](all *Workers[T]) *worker[T] {
	w := &worker[T]{Workers: all, labeled: all.context, number: all.hired}
	w.stays, w.leave = context.WithCancel(all.context)
	return w
}

// takePlace has a Workplace hire the worker. The worker itself calls it, so that no lock is
// held, and a panic is one of a worker. A Hire that does not return is not called again.
func (w *worker[T]) takePlace() {
	if w.placed {
		return
	}
	w.placed = true
	defer func() {
		if w.options.Labels {
			w.labeled = pprof.WithLabels(w.context, pprof.Labels(workerLabelKey, strconv.Itoa(w.number)))
		}
	}()
	if place, is := w.source.(Workplace[T]); is {
		w.number, w.showing, w.leaveDesk = place.Hire()
	}
}

// live is the life of the goroutine.
func (w *worker[T]) live() {
	through, told := false, false
	defer func() {
		switch r := recover(); {
		case r != nil:
			w.fail(panicError(r))
		case !through:
			go w.live() // runtime.Goexit ends this goroutine
			return
		}
		w.leave()
		defer w.hasLeft(w, told) // whatever leaveDesk does
		defer w.catch()
		if w.leaveDesk != nil {
			w.leaveDesk()
		}
	}()
	w.takePlace()
	w.setLabels()
	told = w.work()
	through = true
}

// setLabels labels the goroutine, also after a handler that has labeled it otherwise.
func (w *worker[T]) setLabels() {
	if w.options.Labels {
		pprof.SetGoroutineLabels(w.labeled)
	}
}

// work goes on until the worker is to leave. It returns whether that is because the source
// is shut down and nothing is ready.
func (w *worker[T]) work() (told bool) {
	for {
		err := w.turn(w.stays)
		if err != nil && w.hasToStay(err) {
			err = w.turn(w.context)
		}
		switch {
		case err == nil:
		case w.due != nil:
			w.sourceFailed(w.due)
			return false
		case errors.Is(err, ErrShutDown):
			return true
		case w.isEnd(err):
			return false
		default:
			w.sourceFailed(err)
			return false
		}
	}
}

// hasToStay reports whether a worker that was asked to leave has to stay. Once a shutdown
// has begun, all others may have been told that nothing is ready, and have left, while this
// one had an item that was to become ready again at its Done: a drain would wait for it for
// ever. If none has begun, whoever stays comes by after that Done.
func (w *worker[T]) hasToStay(err error) bool {
	source, is := w.source.(endingSource)
	return is && w.isEnd(err) && !errors.Is(err, ErrShutDown) && source.ShuttingDown()
}

// isEnd reports whether an error of the source says that the worker is to leave. Beside the
// end of a context a source may fail as well.
func (w *worker[T]) isEnd(err error) bool {
	return isEndOf(w.stays, err) || isEndOf(w.context, err)
}

func isEndOf(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// turn takes what is ready, processes it, and settles it; or returns why there is nothing.
func (w *worker[T]) turn(ctx context.Context) error {
	if w.options.HandleBatch != nil {
		return w.turnOfBatch(ctx)
	}
	n, err := w.take(ctx, w.claim[:])
	if n > 0 {
		w.process(&w.claim[0])
	}
	return err
}

// process gives the item to the handler, and settles what came of it, also if the handler
// ends the goroutine.
func (w *worker[T]) process(claim *Claim[T]) {
	w.setLabels()
	result := outcome{err: ErrGoexit} // unless try returns
	defer func() {
		defer func() { *claim = Claim[T]{} }() // nothing refers to an item after its Done
		if result.err == nil {
			w.ended(claim.Done())
			return
		}
		w.finish(*claim, result)
	}()
	defer w.showNothing()
	result = w.try(claim.Item)
}

// showNothing is called before claims end: somebody else may have what was in hand then.
func (w *worker[T]) showNothing() {
	if w.showing != nil {
		clear(w.shown[:])
		w.showing(nil)
	}
}

// try shows the item, and calls the handler.
func (w *worker[T]) try(item T) (result outcome) {
	returned := false
	defer func() {
		if !returned {
			result = outcomeOfPanic(recover())
		}
	}()
	if w.showing != nil {
		w.shown[0] = item
		w.showing(w.shown[:])
	}
	result = outcomeOf(w.handle(item))
	returned = true
	return result
}

func (w *worker[T]) handle(item T) error {
	if w.options.Timeout == 0 {
		return w.options.Handle(w.labeled, item)
	}
	ctx, release := context.WithTimeout(w.labeled, w.options.Timeout)
	defer release()
	return w.options.Handle(ctx, item)
}

// finish settles an item that did not succeed, and ends its claim, whatever happens.
func (w *worker[T]) finish(claim Claim[T], result outcome) {
	a := &attempt[T]{claim: claim, outcome: result}
	defer w.endAttempt(a)
	w.settle(a)
}
