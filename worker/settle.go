package worker

import (
	"context"
	"errors"
	"time"

	"github.com/shardq/shardq/stats"
)

type outcome struct {
	err         error // nil: success
	permanent   bool
	requeue     bool // after delay, which is otherwise the least one of a retry
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
	if later, is := errors.AsType[*retryAfter](err); is {
		result.delay = later.after
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

// tried is deferred, and finds out why Handle has not returned.
func (s *seat) tried() {
	if !s.succeeded && s.result.err == nil {
		s.result = outcomeOfPanic(recover())
	}
}

// settle ends an attempt of Handle that failed or is reported.
func (s *seat) settle() {
	if !s.succeeded {
		result := s.result
		s.result = outcome{}
		if result.err == nil {
			result.err = ErrGoexit // before the handler was called
		}
		s.settleFailed(0, &result, s.end)
		return
	}
	reported := false
	defer func() {
		if !reported {
			s.end(0)
		}
	}()
	s.worker.reportSuccess(0)
	reported = true
	s.worker.done()
}

func (s *seat) end(i int) { s.crew.ended(s.worker.end(i)) }

// settleFailed settles an item that did not succeed, even if user code panics. It
// calls end for an item that does not run again.
func (s *seat) settleFailed(i int, result *outcome, end func(i int)) {
	a := s.worker.newAttempt(i)
	a.crew, a.outcome, a.took, a.worker = s.crew, *result, s.watch.took, s.number
	defer func() {
		switch {
		case a.settled:
		case a.untold:
			s.crew.ended(s.worker.leave(i))
		default:
			end(i)
		}
	}()
	a.settle()
}

// An attempt is one that did not succeed, without its item.
type attempt struct {
	_    [0]func() // nothing compares attempts, so no code for that is compiled
	crew *crew
	of   typedAttempt
	outcome
	// failure is what describe has found out. It is here, and not an argument,
	// so that a failed attempt allocates once for all functions below.
	failure   failure
	described bool
	elapsed   time.Duration // since the first failure, if dated
	took      time.Duration // if the pool or the owner of the claim needs durations
	worker    int           // its number
	refused   bool          // the item cannot run again, and was discarded
	settled   bool          // the claim has ended
	untold    bool          // OnDiscard has not returned
	// lost: other code has ended the claim, such as the handler, or a Cancel the
	// run. That decided about the item, so the pool does not discard it.
	lost bool
}

// A typedAttempt is the [failed] of an attempt.
type typedAttempt interface {
	owner() (owner any, token Token)
	failures() int
	failingSince() (first, now time.Time, known bool)
	giveBack(how Return) error
	reportResult(result stats.Result) // to an AttemptReporter
	report(discard bool)              // or a failure, to a Reporter
	call(which int, f *failure)
}

// settle ends the claim of the item if that runs again.
func (a *attempt) settle() {
	owner, _ := a.of.owner()
	switch {
	case owner == nil: // Run has abandoned the handler
		a.settled = true
		return
	case a.interrupted:
		defer a.afterInterruption()
	case a.requeue:
		defer a.runAgain(Return{Reason: ReturnRequeue, After: a.delay})
	default:
		a.describe()
		a.failed()
		return
	}
	a.of.reportResult(a.result(false))
	if a.requeue {
		a.crew.succeeded(owner) // the handler asked for another run, and has not failed
	}
}

// failed decides about the item also if OnError or the logger panics or ends the
// goroutine.
func (a *attempt) failed() {
	a.failure.reason = a.reasonToDiscard()
	a.failure.final = a.failure.reason != ReasonNone
	defer a.decide()
	defer a.of.reportResult(a.result(a.failure.final))
	defer a.of.call(onError, &a.failure)
	a.of.report(false)
}

func (a *attempt) reasonToDiscard() Reason {
	l := &a.crew.limits
	switch {
	case a.lost:
		return ReasonNone
	case a.permanent:
		return ReasonPermanent
	case l.MaxAttempts > 0 && a.failure.attempt >= l.MaxAttempts, l.MaxElapsed > 0 && a.elapsed >= l.MaxElapsed:
		return ReasonExhausted
	}
	return ReasonNone
}

// succeeded tells the owner of a claim of the first success after a failure.
func (c *crew) succeeded(owner any) {
	if !c.failing.Load() || !c.failing.CompareAndSwap(true, false) {
		return
	}
	defer c.catch() // of the logger
	if reporter, is := owner.(successReporter); is {
		reporter.ReportSuccess(c.context)
	}
}

func (a *attempt) decide() {
	if !a.failure.final {
		a.runAgain(Return{Reason: ReturnRetry, After: a.delay, FirstFailure: a.failure.firstFailure})
		return
	}
	defer a.discard(&a.failure) // also if the logger panics
	a.of.report(true)
}

// describe fills the failure of the attempt. If a method of the owner panics,
// such as the limiter, the item runs again: a panic must not lose it.
func (a *attempt) describe() {
	a.described = true
	a.failure = failure{queue: a.crew.name, err: a.err, duration: a.took, requeued: a.requeue || a.interrupted}
	counted := false
	defer func() {
		if !counted {
			defer a.runAgain(Return{Reason: ReturnRelease})
			a.of.reportResult(a.result(false))
		}
	}()
	owner, token := a.of.owner()
	a.failure.queue = a.crew.nameFor(owner)
	a.failure.attempt = a.of.failures() + 1
	if a.crew.timed || a.crew.limits.MaxElapsed > 0 || a.crew.limits.showsAttempts() {
		a.date()
	}
	// Where nothing discards the item, Return finds out.
	if a.reasonToDiscard() != ReasonNone {
		_, canceled := changesOf(owner, token)
		a.lost = canceled || !isValid(owner, token)
	}
	counted = true
}

func (a *attempt) date() {
	first, now, known := a.of.failingSince()
	if !known {
		return
	}
	if a.failure.attempt == 1 || first.IsZero() {
		if first = now; a.failure.requeued {
			first = time.Time{} // it has not failed
		}
	}
	a.failure.firstFailure, a.elapsed = first, now.Sub(first)
}

// runAgain makes the item ready again, or discards it if that is refused. If
// other code has ended the claim, that end decided about the item.
func (a *attempt) runAgain(how Return) {
	if a.refused { // the limiter has panicked in describe
		a.tooLate(ErrShutDown)
		return
	}
	how.Refused = func() { a.tooLate(ErrShutDown) }
	err := a.of.giveBack(how)
	a.settled = true
	if err != nil && !a.refused && !errors.Is(err, ErrClaimEnded) {
		a.tooLate(err)
	}
}

// afterInterruption makes the item run again with its failures unchanged, unless
// it was canceled and not added after that.
func (a *attempt) afterInterruption() {
	if _, changed := a.err.(interruption); !changed {
		a.runAgain(Return{Reason: ReturnRelease})
	} else if _, canceled := changesOf(a.of.owner()); !canceled { // otherwise the worker calls Done
		a.settled = true
		a.crew.ended(a.of.giveBack(Return{Reason: ReturnRelease}))
	}
}

// tooLate discards an item that cannot run again. It does not call the Reporter:
// a queue counts the items that its end leaves over as dropped.
func (a *attempt) tooLate(reason error) {
	a.refused = true
	if !a.described { // the handler asked for another run
		a.describe()
	}
	f := a.failure
	f.err, f.reason = &tooLate{reason, f.err}, ReasonRefused
	if errors.Is(reason, ErrShutDown) {
		f.reason = ReasonShutDown
	}
	a.discard(&f)
}

// discard tells of an item that will not run again.
func (a *attempt) discard(f *failure) {
	which := onDiscard
	if f.reason == ReasonShutDown {
		which = onLeftover
	}
	f.final, a.untold = true, true
	a.of.call(which, f)
	a.untold = false
}

// A failed is an attempt with the claim to its item.
type failed[T any] struct {
	attempt attempt
	claim   Claim[T]
	pool    *Pool[T]
}

func (f *failed[T]) owner() (owner any, token Token) { return f.claim.owner, f.claim.token }
func (f *failed[T]) failures() int                   { return f.claim.Failures() }
func (f *failed[T]) giveBack(how Return) error       { return giveBack(&f.claim, &how) }

func (f *failed[T]) failingSince() (first, now time.Time, known bool) {
	timer, known := f.claim.owner.(FailureTimer[T])
	if known {
		first, now = timer.FailingSince(f.claim.Item)
	}
	return first, now, known
}

func (f *failed[T]) reportResult(result stats.Result) {
	if reporter := reporterOf(f.claim.owner); reporter != nil {
		reporter.ReportAttempt(Report[T]{f.claim.Item, result, f.attempt.took, f.attempt.worker})
	}
}

func (f *failed[T]) report(discard bool) {
	reporter, is := f.claim.owner.(Reporter[T])
	if !is {
		return
	}
	tell := Reporter[T].ReportDiscard
	if !discard {
		f.attempt.crew.failing.Store(true)
		tell = Reporter[T].ReportFailure
	}
	tell(reporter, f.attempt.crew.context, failureOf(f.claim.Item, &f.attempt.failure), f.attempt.panicked)
}

func (f *failed[T]) call(which int, about *failure) { call(f.pool, which, f.claim.Item, about) }
