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

// An attempt is what a worker has to settle: a claim, and what came of it.
type attempt[T any] struct {
	claim Claim[T]
	outcome
	// refused says that the item cannot come again, and is told of.
	refused bool
	// settled says that the claim has ended.
	settled bool
}

// endAttempt ends the claim, unless that was done.
func (w *Workers[T]) endAttempt(a *attempt[T]) {
	if !a.settled {
		w.ended(a.claim.Done())
	}
}

// ended takes what the end of a claim has returned. That somebody else has ended it is no
// fault.
func (w *Workers[T]) ended(err error) {
	if err != nil && !errors.Is(err, ErrClaimEnded) {
		w.sourceFailed(err)
	}
}

// settle sees to an item that did not succeed. It ends the claim if the item comes again.
func (w *Workers[T]) settle(a *attempt[T]) {
	if !a.requeue {
		w.failed(w.failure(a), a)
		return
	}
	w.comeBack(a, ClaimReturn{Reason: ReturnRequeue, After: a.delay}, func() Failure[T] {
		f := w.failure(a)
		f.Requeued = true
		return f
	})
}

// failed tells of a failure, and then decides what becomes of the item, also if OnError or the
// logger panics or ends the goroutine.
func (w *Workers[T]) failed(f Failure[T], a *attempt[T]) {
	exhausted := w.options.MaxAttempts > 0 && f.Attempt >= w.options.MaxAttempts
	f.Final = a.permanent || exhausted
	defer w.decide(f, a)
	if w.options.OnError != nil {
		defer w.options.OnError(f)
	}
	if reporter, is := a.claim.Owner().(FailureReporter[T]); is {
		reporter.ReportFailure(w.context, f, a.panicked)
	}
}

func (w *Workers[T]) decide(f Failure[T], a *attempt[T]) {
	if f.Final {
		w.discard(f, a)
		return
	}
	w.comeBack(a, ClaimReturn{Reason: ReturnRetry}, func() Failure[T] { return f })
}

// failure says how often the item was tried. If the limiter panics, or another method of the
// owner, the item comes again: it must not be lost beside the panic.
func (w *Workers[T]) failure(a *attempt[T]) Failure[T] {
	f := Failure[T]{Queue: w.name, Item: a.claim.Item, Err: a.err}
	counted := false
	defer func() {
		if !counted {
			w.comeBack(a, ClaimReturn{Reason: ReturnRelease}, func() Failure[T] { return f })
		}
	}()
	f.Queue = nameOf(a.claim.Owner(), w.name)
	f.Attempt = a.claim.Failures() + 1
	counted = true
	return f
}

// comeBack ends the claim and has the item come again, or else gives it up, with what failure
// returns then.
func (w *Workers[T]) comeBack(a *attempt[T], how ClaimReturn, failure func() Failure[T]) {
	tooLate := func(reason error) {
		a.refused = true
		w.tooLate(failure(), reason)
	}
	if a.refused { // the limiter has panicked in failure
		tooLate(ErrShutDown)
		return
	}
	how.Refused = func() { tooLate(ErrShutDown) }
	err := a.claim.Return(how)
	a.settled = true
	if err != nil && !a.refused {
		tooLate(err)
	}
}

// discard gives an item up that will not be tried again on account of its failures.
func (w *Workers[T]) discard(f Failure[T], a *attempt[T]) {
	defer w.giveUp(f) // also if the logger panics
	if reporter, is := a.claim.Owner().(FailureReporter[T]); is {
		reporter.ReportDiscard(w.context, f, a.panicked)
	}
}

// tooLate gives an item up that cannot come again, as a rule because the source is shut down. It
// is no discard: what the end of a queue leaves undone is counted as dropped, if it is.
func (w *Workers[T]) tooLate(f Failure[T], reason error) {
	f.Err = &tooLate{reason, f.Err}
	w.giveUp(f)
}

// giveUp tells of an item that is given up.
func (w *Workers[T]) giveUp(f Failure[T]) {
	f.Final = true
	if w.options.OnGiveUp != nil {
		w.options.OnGiveUp(f)
	}
}

// reportDropped tells of what a drain dropped, and has it forgotten.
func (w *Workers[T]) reportDropped(items []T) {
	history, has := w.source.(historySource[T])
	forEach(len(items), func(i int) {
		f := Failure[T]{Queue: w.name, Item: items[i], Err: errWaited}
		if has {
			defer history.Forget(f.Item)
		}
		defer func() { w.giveUp(f) }() // also if the limiter panics
		if has {
			f.Attempt = history.NumRequeues(f.Item)
		}
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
