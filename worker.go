package shardq

import (
	"context"
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
	// desk shows what is in hand, if showing.
	desk    workerDesk[T]
	showing bool
	one     [1]T
}

func newWorker[T any](all *Workers[T]) *worker[T] {
	w := &worker[T]{Workers: all, desk: all.source.newDesk(), showing: all.source.showing()}
	w.labeled = all.context
	if all.options.Labels {
		w.labeled = pprof.WithLabels(all.context, pprof.Labels(workerLabelKey, strconv.Itoa(w.desk.label())))
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
		w.desk.clear()
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

// work goes on until the worker is to leave. It returns whether that is because the queue
// is shut down and nothing is ready.
func (w *worker[T]) work() (told bool) {
	err := error(nil)
	for err == nil {
		err = w.turn(w.stays)
		if err != nil && w.hasToStay(err) {
			err = w.turn(w.context)
		}
	}
	return err == ErrShutDown
}

// hasToStay reports whether a worker that was asked to leave has to stay. Once a shutdown
// has begun, all others may have been told that nothing is ready, and have left, while this
// one had an item that was to become ready again at its Done: a drain would wait for it for
// ever. If none has begun, whoever stays comes by after that Done.
func (w *worker[T]) hasToStay(err error) bool {
	return err != ErrShutDown && w.source.shuttingDown()
}

// turn takes what is ready, processes it, and settles it; or returns why there is nothing.
func (w *worker[T]) turn(ctx context.Context) error {
	if w.options.HandleBatch != nil {
		return w.turnOfBatch(ctx)
	}
	item, from, err := w.source.take(ctx)
	if err == nil {
		w.process(item, from)
	}
	return err
}

// process gives the item to the handler, and settles what came of it, also if the handler
// ends the goroutine.
func (w *worker[T]) process(item T, from origin) {
	w.setLabels()
	result := outcome{err: ErrGoexit} // unless try returns
	if w.showing {
		w.one[0] = item
		w.desk.show(w.one[:])
	}
	defer func() {
		if w.showing {
			w.showNothing()
		}
		if result.err == nil {
			w.source.succeeded(item, from)
			return
		}
		w.finish(attempt[T]{item, from, result})
	}()
	result = w.try(item)
}

// showNothing is called before what was in hand is Done: somebody else may have it then.
func (w *worker[T]) showNothing() {
	clear(w.one[:])
	w.desk.show(nil)
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

// finish settles an item that did not succeed, and says its Done, whatever happens.
func (w *worker[T]) finish(a attempt[T]) {
	defer w.source.done(a.item, a.from)
	w.settle(a)
}
