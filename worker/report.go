package worker

import (
	"time"

	"github.com/shardq/shardq/stats"
)

// An AttemptReporter is an [Owner] that counts attempts by their results.
// Workers call its methods in their own goroutines, with no lock held.
type AttemptReporter[T any] interface {
	// CountsAttempts reports whether the owner wants reports. Workers call it
	// before each attempt, and neither measure nor report the attempt if it
	// returns false.
	CountsAttempts() bool
	// ReportAttempt reports an attempt. Workers call it once for each, after
	// the hook OnError and before the claim ends or OnDiscard is called.
	ReportAttempt(r Report[T])
}

// A Report describes an attempt that has ended: see [AttemptReporter].
type Report[T any] struct {
	// Item is the item.
	Item T
	// Result is the result of the attempt.
	Result stats.Result
	// Duration is how long the handler took, in real time. An item of a batch
	// has the duration of the whole batch, because it waited that long.
	Duration time.Duration
	// Worker is the number of the worker: see [Slots]. Without slots, it is its
	// number in the [Pool], from 1.
	Worker int
}

// startWatch starts the watch, if a hook or an owner of the claims needs
// durations.
func (w *worker[T]) startWatch(claims []Claim[T]) {
	w.reports = false
	for i := range claims {
		if reporterOf(&claims[i]) != nil {
			w.reports = true
			break
		}
	}
	w.watch.runs = w.reports || w.options.needsDurations()
	w.watch.start()
}

// reporterOf returns the owner of a claim, if it wants reports.
func reporterOf[T any](claim *Claim[T]) AttemptReporter[T] {
	if reporter, is := claim.owner.(AttemptReporter[T]); is && reporter.CountsAttempts() {
		return reporter
	}
	return nil
}

// reportSuccess reports an attempt that has succeeded, if the owner of the
// claim wants it, or if it is the first after a failure.
func (w *worker[T]) reportSuccess(claim *Claim[T]) {
	if w.reports {
		report(claim, stats.Succeeded, w.watch.took, w.number)
	}
	if w.failing.Load() {
		w.succeeded(claim)
	}
}

// reportEnd reports an attempt that did not succeed, if the owner of the claim
// wants it.
func (p *Pool[T]) reportEnd(a *attempt[T], discarded bool) {
	result := stats.Discarded
	if !discarded {
		result = a.result(p.options.Timeout, a.took)
	}
	report(&a.claim, result, a.took, a.worker)
}

func report[T any](claim *Claim[T], result stats.Result, took time.Duration, worker int) {
	if reporter := reporterOf(claim); reporter != nil {
		reporter.ReportAttempt(Report[T]{claim.Item, result, took, worker})
	}
}

// result returns the result of an attempt that took that long, unless the item
// is discarded.
func (o *outcome) result(timeout, took time.Duration) stats.Result {
	switch {
	case o.err == nil:
		return stats.Succeeded
	case o.requeue:
		return stats.Requeued
	case o.panicked != nil || o.err == ErrGoexit:
		return stats.Panicked
	case o.exceeded && took >= timeout:
		return stats.TimedOut
	}
	return stats.Failed
}
