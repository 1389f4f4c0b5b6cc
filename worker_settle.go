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
	// panicked is the panic that the error is, or wraps.
	panicked *PanicError
}

// outcomeOf reads what a handler returned. It runs the methods of the user's error, and so
// has to be called where a panic is taken for the handler's. They are not run again.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	result := outcome{err: err}
	if _, permanent := errors.AsType[*permanent](err); permanent {
		result.permanent = true
	} else if after, requeue := errors.AsType[requeue](err); requeue {
		result.requeue, result.delay = true, time.Duration(after)
		return result
	}
	result.panicked, _ = errors.AsType[*PanicError](err)
	return result
}

// outcomeOfPanic is the outcome of an attempt that did not return; recovered is nil after a
// Goexit.
func outcomeOfPanic(recovered any) outcome {
	if recovered == nil {
		return outcome{err: ErrGoexit}
	}
	fault := panicError(recovered)
	return outcome{err: fault, panicked: fault}
}

// An attempt is what a worker has to settle: an item, where it came from, and what came of
// it.
type attempt[T any] struct {
	item T
	from origin
	outcome
}

// settle sees to everything but the item's Done.
func (w *Workers[T]) settle(a attempt[T]) {
	switch {
	case a.err == nil:
		w.source.forget(a.item)
	case a.requeue:
		w.requeue(a)
	default:
		w.failed(w.failure(a), a)
	}
}

// requeue has an item again that is through for now.
func (w *Workers[T]) requeue(a attempt[T]) {
	after := func() time.Duration {
		w.source.forget(a.item)
		return a.delay
	}
	w.giveBack(a, after, func() {
		f := w.failure(a)
		f.Requeued = true
		w.tooLate(f)
	})
}

// failed tells of a failure, and then decides what becomes of the item, also if OnError or the
// logger panics or ends the goroutine.
func (w *Workers[T]) failed(f Failure[T], a attempt[T]) {
	exhausted := w.options.MaxAttempts > 0 && f.Attempt >= w.options.MaxAttempts
	f.Final = a.permanent || exhausted
	defer w.decide(f, a)
	if w.options.OnError != nil {
		defer w.options.OnError(f)
	}
	if log := w.source.log(); log != nil {
		log.failure(w.context, w.source.key(f.Item), f.Attempt, f.Err, a.panicked)
	}
}

func (w *Workers[T]) decide(f Failure[T], a attempt[T]) {
	if f.Final {
		w.discard(f, a.panicked)
		return
	}
	backOff := func() time.Duration { return w.source.backOff(f.Item) }
	w.giveBack(a, backOff, func() { w.tooLate(f) })
}

// failure says how often the item was tried. If the limiter panics, the item comes again: it
// must not be lost beside the panic.
func (w *Workers[T]) failure(a attempt[T]) Failure[T] {
	f := Failure[T]{Queue: w.source.name(), Item: a.item, Err: a.err}
	counted := false
	defer func() {
		if !counted {
			w.source.giveBack(a.item, a.from, 0, func() { w.tooLate(f) })
		}
	}()
	f.Attempt = w.source.failures(a.item) + 1
	counted = true
	return f
}

// giveBack has an item come again after a delay, or calls refused. If the delay cannot be told,
// because user code panics, the item comes at once.
func (w *Workers[T]) giveBack(a attempt[T], after func() time.Duration, refused func()) {
	if !w.source.takesBack(a.item) {
		refused() // before the limiter counts a failure
		return
	}
	delay := time.Duration(0)
	defer func() { w.source.giveBack(a.item, a.from, delay, refused) }()
	delay = after()
}

// discard gives an item up that will not be tried again on account of its failures.
func (w *Workers[T]) discard(f Failure[T], panicked *PanicError) {
	defer w.giveUp(f) // also if the logger panics
	w.source.gaveUp()
	if log := w.source.log(); log != nil {
		log.givenUp(w.context, w.source.key(f.Item), f.Attempt, f.Err, panicked)
	}
}

// tooLate gives an item up that cannot come again because the queue is shut down. It is no
// discard: what the end of the queue leaves undone is counted as dropped, if it is.
func (w *Workers[T]) tooLate(f Failure[T]) {
	f.Err = &tooLate{f.Err}
	w.giveUp(f)
}

// giveUp tells of an item that is given up, and forgets it.
func (w *Workers[T]) giveUp(f Failure[T]) {
	defer w.source.forget(f.Item)
	f.Final = true
	if w.options.OnGiveUp != nil {
		w.options.OnGiveUp(f)
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

// forEach calls do with 0 to n-1, all of them, also if a call panics or ends the goroutine. The
// first panic goes on when all are through. However many there are, they take no room on the
// stack, nor goroutines side by side.
func forEach(n int, do func(i int)) {
	next := 0
	defer func() {
		if next < n {
			goOn(next, n, do, recover())
		}
	}()
	for next < n {
		i := next
		next++
		do(i)
	}
}

// goOn makes the rest of the calls after one that panicked, or ended the goroutine.
func goOn(next, n int, do func(i int), panicked any) {
	l := &loop{next: next, n: n, do: do}
	if panicked != nil {
		l.fault = panicError(panicked)
	}
	defer l.finish()
	for l.next < l.n {
		l.run()
	}
}

// A loop is a forEach that has met trouble.
type loop struct {
	next, n int
	do      func(i int)
	fault   *PanicError // the first
}

// run goes on until a call panics.
func (l *loop) run() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil && l.fault == nil {
			l.fault = panicError(r)
		}
	}()
	for l.next < l.n {
		l.next++
		l.do(l.next - 1)
	}
	returned = true
}

// finish is deferred. A call that ends the goroutine cannot be held up, so each of those
// after it that does the same has a goroutine to end.
func (l *loop) finish() {
	for l.next < l.n {
		over := make(chan struct{})
		go func() {
			defer close(over)
			for l.next < l.n {
				l.run()
			}
		}()
		<-over
	}
	if l.fault != nil {
		panic(passedOn{l.fault})
	}
}
