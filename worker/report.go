package worker

import (
	"time"
	"unsafe"

	"github.com/shardq/shardq/stats"
)

// An AttemptReporter is an [Owner] that counts attempts by their results.
type AttemptReporter[T any] interface {
	// CountsAttempts reports whether the owner wants reports. It must always
	// return the same value, because workers remember it.
	CountsAttempts() bool
	// ReportAttempt is called once for each attempt, after the hook OnError and
	// before the claim ends or OnDiscard is called.
	ReportAttempt(r Report[T])
}

// A Report describes an attempt that has ended: see [AttemptReporter].
type Report[T any] struct {
	Item     T
	Result   stats.Result
	Duration time.Duration // of the handler or the whole batch, in real time
	Worker   int           // its number: see [Slots]; or its number in the [Pool], from 1
}

// A knownOwner is the owner of a worker's last claim. Most claims have the same
// one, and an assertion of its type for each attempt would be slow.
type knownOwner[T any] struct {
	_        [0]func() // not compared: see attempt
	owner    Owner[T]
	reporter AttemptReporter[T] // nil if the owner wants no reports
}

func knownReporter[T any](k *knownOwner[T], owner *Owner[T]) AttemptReporter[T] {
	if !identical(&k.owner, owner) {
		learn(k, *owner) // apart, so that knownReporter is inlined
	}
	return k.reporter
}

func learn[T any](k *knownOwner[T], owner Owner[T]) { k.owner, k.reporter = owner, reporterOf(owner) }

// identical compares types and addresses, because an ordinary comparison would
// panic for owners that cannot be compared.
func identical[T any](a, b *Owner[T]) bool {
	return *(*[2]uintptr)(unsafe.Pointer(a)) == *(*[2]uintptr)(unsafe.Pointer(b))
}

func reporterOf[T any](owner Owner[T]) AttemptReporter[T] {
	if reporter, is := owner.(AttemptReporter[T]); is && reporter.CountsAttempts() {
		return reporter
	}
	return nil
}

func (w *worker[T]) wantsReports(n int) bool {
	claims := w.claims[:n]
	for i := range claims {
		if knownReporter(&w.known, &claims[i].owner) != nil {
			return true
		}
	}
	return false
}

func (w *worker[T]) reportSuccess(i int) {
	claim := &w.claims[i]
	if w.seat.reports {
		if reporter := knownReporter(&w.known, &claim.owner); reporter != nil {
			reporter.ReportAttempt(Report[T]{claim.Item, stats.Succeeded, w.seat.watch.took, w.seat.number})
		}
	}
	if w.seat.crew.failing.Load() {
		w.seat.crew.succeeded(claim.owner)
	}
}

func (a *attempt) result(discarded bool) stats.Result {
	switch {
	case discarded:
		return stats.Discarded
	case a.requeue || a.interrupted:
		return stats.Requeued
	case a.panicked != nil || a.err == ErrGoexit:
		return stats.Panicked
	case a.timedOut:
		return stats.TimedOut
	}
	return stats.Failed
}

// A stopwatch measures the attempts of a worker, in real time. It reads the
// clock only if a hook or the owner of a claim needs durations.
type stopwatch struct {
	runs        bool
	began, took time.Duration
}

// origin is the moment from which stopwatches count. A time since a moment is
// half as costly to read as the time of day.
var origin = time.Now()

func (s *stopwatch) start(runs bool) {
	if s.runs = runs; runs {
		s.began = time.Since(origin)
	}
}

func (s *stopwatch) stop() {
	if s.runs {
		s.took = time.Since(origin) - s.began
	}
}
