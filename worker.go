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
	// showing shows what is in hand, if it is not nil.
	showing   func(items []T)
	leaveDesk func()
	shown     [1]T
	// claim is that of Handle. It is here because sources write to it, and because to
	// copy a claim costs some nanoseconds.
	claim [1]Claim[T]
}

func newWorker[T any](all *Workers[T]) *worker[T] {
	w := &worker[T]{Workers: all, leaveDesk: func() {}}
	w.labeled = all.context
	number := all.hired
	if place, is := all.source.(Workplace[T]); is {
		number, w.showing, w.leaveDesk = place.Hire()
	}
	if all.options.Labels {
		w.labeled = pprof.WithLabels(all.context, pprof.Labels(workerLabelKey, strconv.Itoa(number)))
	}
	w.stays, w.leave = context.WithCancel(all.context)
	return w
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
		w.leaveDesk()
		w.hasLeft(w, told)
	}()
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
		case errors.Is(err, ErrShutDown):
			return true
		case w.stays.Err() != nil:
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
	return is && w.stays.Err() != nil && !errors.Is(err, ErrShutDown) && source.ShuttingDown()
}

// turn takes what is ready, processes it, and settles it; or returns why there is nothing.
func (w *worker[T]) turn(ctx context.Context) error {
	if w.options.HandleBatch != nil {
		return w.turnOfBatch(ctx)
	}
	n, err := w.source.ClaimBatch(ctx, w.claim[:])
	switch {
	case err != nil:
		return err
	case n == 0:
		return ctx.Err()
	}
	w.process(&w.claim[0])
	return nil
}

// process gives the item to the handler, and settles what came of it, also if the handler
// ends the goroutine.
func (w *worker[T]) process(claim *Claim[T]) {
	w.setLabels()
	result := outcome{err: ErrGoexit} // unless try returns
	if w.showing != nil {
		w.shown[0] = claim.Item
		w.showing(w.shown[:])
	}
	defer func() {
		w.showNothing()
		defer func() { *claim = Claim[T]{} }() // nothing refers to an item after its Done
		if result.err == nil {
			_ = claim.Done() // there is nothing to do if somebody else has ended it
			return
		}
		w.finish(*claim, result)
	}()
	result = w.try(claim.Item)
}

// showNothing is called before claims end: somebody else may have what was in hand then.
func (w *worker[T]) showNothing() {
	if w.showing != nil {
		clear(w.shown[:])
		w.showing(nil)
	}
}

// try calls the handler.
func (w *worker[T]) try(item T) (result outcome) {
	returned := false
	defer func() {
		if !returned {
			result = outcomeOfPanic(recover())
		}
	}()
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
	defer a.end()
	w.settle(a)
}
