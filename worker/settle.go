package worker

import (
	"context"
	"errors"
	"time"

	"github.com/shardq/shardq/internal/foreach"
)

type outcome struct {
	err         error // nil: success
	permanent   bool
	requeue     bool // after delay
	interrupted bool // the handler ended because its context did: see [Interrupted]
	timedOut    bool // a [TimeoutOf] or Options.Timeout has ended the attempt
	delay       time.Duration
	panicked    *PanicError // that the error is, or wraps
}

// outcomeOf reads a handler's error. Late: a timeout has ended the attempt. It
// calls methods of that error, and nothing in the pool calls them again.
func outcomeOf(pool context.Context, err error, late bool) (result outcome) {
	defer func() { // here, because other items of a batch may have succeeded
		if r := recover(); r != nil {
			result = outcomeOfPanic(r)
		}
	}()
	result = outcome{err: err}
	if _, result.interrupted = err.(interruption); result.interrupted { // a wrapped one would be another pool's
		return result
	}
	if _, permanent := errors.AsType[*permanent](err); permanent {
		result.permanent = true
	} else if after, requeue := errors.AsType[requeue](err); requeue {
		result.requeue, result.delay = true, time.Duration(after)
		return result
	}
	result.panicked, _ = errors.AsType[*PanicError](err)
	_, result.timedOut = errors.AsType[*timedOut](err)
	result.timedOut = result.timedOut || late && errors.Is(err, context.DeadlineExceeded)
	result.interrupted = !result.timedOut && !result.permanent && result.panicked == nil && isEndOf(pool, err)
	return result
}

// outcomeOfPanic gets nil after a Goexit.
func outcomeOfPanic(recovered any) outcome {
	if recovered == nil {
		return outcome{err: ErrGoexit}
	}
	fault := panicError(recovered)
	return outcome{err: fault, panicked: fault}
}

type attempt[T any] struct {
	claim Claim[T]
	outcome
	// failure is what describe has found out. It is here, and not an argument,
	// so that a failed attempt allocates once for all functions below.
	failure   Failure[T]
	described bool
	elapsed   time.Duration // since the first failure, if dated
	took      time.Duration // if the pool or the owner of the claim needs durations
	worker    int           // its number
	refused   bool          // the item cannot run again, and was discarded
	settled   bool          // the claim has ended
	// lost: other code has ended the claim, such as the handler. Its end decided
	// about the item, so the pool does not discard it.
	lost bool
}

// ended takes the result of the end of a claim. It is no fault if other code
// has ended the claim.
func (p *Pool[T]) ended(err error) {
	if err != nil {
		p.endedWith(err) // apart, so that ended is inlined
	}
}

func (p *Pool[T]) endedWith(err error) {
	if !errors.Is(err, ErrClaimEnded) {
		p.fail(nil, err)
	}
}

// settle ends the claim of an item that did not succeed if that runs again.
func (p *Pool[T]) settle(a *attempt[T]) {
	switch {
	case a.claim.owner == nil: // Run has abandoned the handler
		a.settled = true
		return
	case a.interrupted:
		defer p.interrupted(a)
	case a.requeue:
		defer p.runAgain(a, Return{Reason: ReturnRequeue, After: a.delay})
	default:
		p.describe(a)
		p.failed(a)
		return
	}
	p.reportEnd(a, false)
	if a.requeue && p.failing.Load() {
		p.succeeded(&a.claim) // the handler asked for another run, and has not failed
	}
}

// failed decides about the item also if OnError or the logger panics or ends the
// goroutine.
func (p *Pool[T]) failed(a *attempt[T]) {
	a.failure.Reason = p.reasonToDiscard(a)
	a.failure.Final = a.failure.Reason != ReasonNone
	defer p.decide(a)
	defer p.reportEnd(a, a.failure.Final)
	if p.options.OnError != nil {
		defer p.options.OnError(p.hooks, a.failure)
	}
	if reporter, is := a.claim.Owner().(Reporter[T]); is {
		p.failing.Store(true)
		reporter.ReportFailure(p.context, a.failure, a.panicked)
	}
}

func (p *Pool[T]) reasonToDiscard(a *attempt[T]) Reason {
	switch {
	case a.lost:
		return ReasonNone
	case a.permanent:
		return ReasonPermanent
	case p.options.MaxAttempts > 0 && a.failure.Attempt >= p.options.MaxAttempts,
		p.options.MaxElapsed > 0 && a.elapsed >= p.options.MaxElapsed:
		return ReasonExhausted
	}
	return ReasonNone
}

func (p *Pool[T]) succeeded(claim *Claim[T]) {
	if !p.failing.CompareAndSwap(true, false) {
		return
	}
	defer p.catch() // of the logger
	if reporter, is := claim.Owner().(successReporter); is {
		reporter.ReportSuccess(p.context)
	}
}

func (p *Pool[T]) decide(a *attempt[T]) {
	if !a.failure.Final {
		p.runAgain(a, Return{Reason: ReturnRetry, FirstFailure: a.failure.FirstFailure})
		return
	}
	defer p.callOnDiscard(a.failure) // also if the logger panics
	if reporter, is := a.claim.Owner().(Reporter[T]); is {
		reporter.ReportDiscard(p.context, a.failure, a.panicked)
	}
}

// describe fills the failure of the attempt. If a method of the owner panics,
// such as the limiter, the item runs again: a panic must not lose it.
func (p *Pool[T]) describe(a *attempt[T]) {
	a.described = true
	a.failure = Failure[T]{Queue: p.name, Item: a.claim.Item, Err: a.err, Duration: a.took, Requeued: a.requeue || a.interrupted}
	counted := false
	defer func() {
		if !counted {
			defer p.runAgain(a, Return{Reason: ReturnRelease})
			p.reportEnd(a, false)
		}
	}()
	a.failure.Queue = nameOf(a.claim.Owner(), p.name)
	a.failure.Attempt = a.claim.Failures() + 1
	asked := p.timed || p.options.MaxElapsed > 0 || p.options.showsAttempts()
	if timer, is := a.claim.Owner().(FailureTimer[T]); is && asked {
		first, now := timer.FailingSince(a.claim.Item)
		if a.failure.Attempt == 1 || first.IsZero() {
			if first = now; a.failure.Requeued {
				first = time.Time{} // it has not failed
			}
		}
		a.failure.FirstFailure, a.elapsed = first, now.Sub(first)
	}
	// Where nothing discards the item, Return finds out.
	a.lost = p.reasonToDiscard(a) != ReasonNone && !a.claim.Valid()
	counted = true
}

// runAgain makes the item ready again, or discards it if that is refused. If
// other code has ended the claim, that end decided about the item.
func (p *Pool[T]) runAgain(a *attempt[T], how Return) {
	if a.refused { // the limiter has panicked in describe
		p.tooLate(a, ErrShutDown)
		return
	}
	how.Refused = func() { p.tooLate(a, ErrShutDown) }
	err := a.claim.Return(how)
	a.settled = true
	if err != nil && !a.refused && !errors.Is(err, ErrClaimEnded) {
		p.tooLate(a, err)
	}
}

// tooLate discards an item that cannot run again. It does not call the Reporter:
// a queue counts the items that its end leaves over as dropped.
func (p *Pool[T]) tooLate(a *attempt[T], reason error) {
	a.refused = true
	if !a.described { // the handler asked for another run
		p.describe(a)
	}
	f := a.failure
	f.Err, f.Reason = &tooLate{reason, f.Err}, ReasonRefused
	if errors.Is(reason, ErrShutDown) {
		f.Reason = ReasonShutDown
	}
	p.callOnDiscard(f)
}

func (p *Pool[T]) callOnDiscard(f Failure[T]) {
	f.Final = true
	hook := p.options.OnDiscard
	if f.Reason == ReasonShutDown {
		hook = p.options.OnLeftover
		if hook == nil {
			hook = p.keepLeftover
		}
	}
	if hook != nil {
		hook(p.hooks, f)
	}
}

func (p *Pool[T]) keepLeftover(_ context.Context, f Failure[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leftover = append(p.leftover, f)
}

func (p *Pool[T]) reportDropped(items []T) {
	history, has := p.source.(historySource[T])
	foreach.Do(len(items), func(i int) {
		f := Failure[T]{Queue: p.name, Item: items[i], Err: errDropped, Reason: ReasonShutDown}
		if has {
			defer history.Forget(f.Item)
		}
		defer func() { p.callOnDiscard(f) }() // also if the limiter panics
		if has {
			f.Attempt = history.NumRequeues(f.Item)
		}
	})
}
