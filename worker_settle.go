package shardq

import (
	"errors"
	"time"
)

// An outcome is what came of an attempt.
type outcome struct {
	err       error // nil: success
	permanent bool
	requeue   bool // after delay
	delay     time.Duration
	// priority is that with which the item came, and is to come again.
	priority int
}

// outcomeOf reads what a handler returned. It runs the methods of the user's error, and so
// has to be called where a panic is taken for the handler's.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	result := outcome{err: err}
	if _, permanent := errors.AsType[*permanent](err); permanent {
		result.permanent = true
	} else if after, requeue := errors.AsType[requeue](err); requeue {
		result.requeue, result.delay = true, time.Duration(after)
	}
	return result
}

// outcomeOfPanic is the outcome of an attempt that did not return; recovered is nil after a
// Goexit.
func outcomeOfPanic(recovered any) outcome {
	if recovered == nil {
		return outcome{err: ErrGoexit}
	}
	return outcome{err: panicError(recovered)}
}

// settle sees to everything but the item's Done.
func (w *Workers[T]) settle(item T, result outcome) {
	switch {
	case result.err == nil:
		w.source.forget(item)
	case result.requeue:
		w.requeue(item, result)
	default:
		w.failed(w.failure(item, result), result)
	}
}

// requeue has an item again that is through for now.
func (w *Workers[T]) requeue(item T, result outcome) {
	after := func() time.Duration {
		w.source.forget(item)
		return result.delay
	}
	w.source.giveBack(item, result.priority, after, func() {
		f := tooLateFor(w.failure(item, result))
		f.Requeued = true
		w.giveUp(f)
	})
}

// failed tells of a failure, and then decides what becomes of the item, also if OnError
// panics or ends the goroutine.
func (w *Workers[T]) failed(f Failure[T], result outcome) {
	exhausted := w.options.MaxAttempts > 0 && f.Attempt >= w.options.MaxAttempts
	f.Final = result.permanent || exhausted
	defer w.decide(f, result)
	if log := w.source.log(); log != nil {
		log.failure(w.context, w.source.key(f.Item), f.Attempt, f.Err)
	}
	if w.options.OnError != nil {
		w.options.OnError(f)
	}
}

func (w *Workers[T]) decide(f Failure[T], result outcome) {
	if f.Final {
		w.giveUp(f)
		return
	}
	backOff := func() time.Duration { return w.source.backOff(f.Item) }
	w.source.giveBack(f.Item, result.priority, backOff, func() { w.giveUp(tooLateFor(f)) })
}

// failure says how often the item was tried. If the limiter panics, the item comes again: it
// must not be lost beside the panic.
func (w *Workers[T]) failure(item T, result outcome) Failure[T] {
	f := Failure[T]{Queue: w.source.name(), Item: item, Err: result.err}
	counted := false
	defer func() {
		if !counted {
			w.source.giveBack(item, result.priority, atOnce, func() { w.giveUp(tooLateFor(f)) })
		}
	}()
	f.Attempt = w.source.failures(item) + 1
	counted = true
	return f
}

func atOnce() time.Duration { return 0 }

func tooLateFor[T any](f Failure[T]) Failure[T] {
	f.Err = &tooLate{f.Err}
	return f
}

// giveUp tells of an item that is given up, and forgets it.
func (w *Workers[T]) giveUp(f Failure[T]) {
	defer w.source.forget(f.Item)
	if !errors.Is(f.Err, ErrShutDown) { // what the end of the queue leaves undone is counted as dropped
		w.countGivenUp(f)
	}
	f.Final = true
	if w.options.OnGiveUp != nil {
		w.options.OnGiveUp(f)
	}
}

func (w *Workers[T]) countGivenUp(f Failure[T]) {
	w.source.gaveUp()
	if log := w.source.log(); log != nil {
		log.givenUp(w.context, w.source.key(f.Item), f.Attempt, f.Err)
	}
}

// reportDropped tells of what a drain dropped.
func (w *Workers[T]) reportDropped(items []T) {
	forEach(len(items), func(i int) {
		f := Failure[T]{Queue: w.source.name(), Item: items[i], Err: errWaited}
		defer func() { w.giveUp(f) }() // also if the limiter panics
		f.Attempt = w.source.failures(items[i])
	})
}

// forEach calls do with 0 to n-1, all of them, also if a call panics or ends the goroutine:
// the others come while that is under way.
func forEach(n int, do func(i int)) { forEachFrom(0, n, do) }

func forEachFrom(next, n int, do func(i int)) {
	defer func() {
		if next < n {
			forEachFrom(next, n, do)
		}
	}()
	for next < n {
		i := next
		next++
		do(i)
	}
}
