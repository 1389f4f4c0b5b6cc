package shardq

import (
	"fmt"
	"strings"
	"time"

	"github.com/shardq/shardq/internal/attempts"
	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/internal/recent"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// outcomes are what a queue knows of the attempts of workers.
type outcomes[T comparable] struct {
	attempts *attempts.Recorder  // nil without metrics
	group    func(item T) string // nil without groups
	// failed and discarded have the last failures. They allocate nothing before
	// the first.
	failed, discarded recent.Ring[stats.Failure[T]]
	outage            outage
}

const (
	// failuresKept limits the failures, and the discards, that a queue keeps.
	failuresKept = 64
	// longestError limits the bytes of the text of an error that is kept.
	longestError = 512
)

func (o *outcomes[T]) init(options Options[T]) {
	o.group = options.Group
	if options.Metrics {
		o.attempts = attempts.New()
	}
}

// CountsAttempts implements [worker.AttemptReporter].
func (o *queueClaims[T]) CountsAttempts() bool { return o.outcomes.attempts != nil }

// ReportAttempt implements [worker.AttemptReporter]. It must be called only if
// CountsAttempts returns true.
func (o *queueClaims[T]) ReportAttempt(r worker.Report[T]) {
	o.outcomes.attempts.Record(r.Worker, r.Result, r.Duration)
	if o.outcomes.group != nil {
		o.outcomes.attempts.RecordGroup(o.outcomes.groupOf(r.Item), r.Result)
	}
}

// groupOf returns the group of an item. A Group that panics, which it did not
// do when the item was added, must not end the worker.
func (o *outcomes[T]) groupOf(item T) (group string) {
	if o.group == nil {
		return ""
	}
	defer func() { _ = recover() }()
	return o.group(item)
}

// keepFailure keeps a failure for RecentFailures. It calls methods of the error
// and the group function, so no lock may be held.
func (q *Queue[T]) keepFailure(f worker.Failure[T], panicked *worker.PanicError, now time.Time) {
	kept := stats.Failure[T]{
		Item: f.Item, Group: q.outcomes.groupOf(f.Item), Attempt: f.Attempt, Time: now,
		Error: errorText(f.Err, panicked), Panicked: panicked != nil, Discarded: f.Final,
	}
	if f.Final {
		kept.Reason = f.Reason.String()
		q.outcomes.discarded.Add(kept, failuresKept)
	} else {
		q.outcomes.failed.Add(kept, failuresKept)
	}
}

// now reads the clock. It returns the real time if the clock panics, because
// that must not end a worker.
func (q *Queue[T]) now() (now time.Time) {
	defer func() {
		if recover() != nil {
			now = time.Now()
		}
	}()
	return q.clock.Now()
}

// errorText returns the text of an error, or of a panic without its stack. If
// it is long, errorText returns its beginning, which does not keep the rest
// alive.
func errorText(err error, panicked *worker.PanicError) string {
	text := ""
	if panicked != nil {
		text = fmt.Sprint(panicked.Value)
	} else {
		text = messageOf(err)
	}
	if len(text) <= longestError {
		return text
	}
	return strings.Clone(keytext.Cut(text, longestError)) + "…"
}

// messageOf returns what the error says. If its method panics, messageOf leaves
// that to package fmt, which shows the panic, but takes longer for each error.
func messageOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprint(err)
		}
	}()
	return err.Error()
}

// RecentFailures returns the last failures of workers, at most limit of each
// kind, the newest first. Failed are attempts after which the item runs again.
// Discarded are the dead letters. The queue keeps 64 of each kind, with their
// items. It knows only of the attempts of a [worker.Pool], and not of what a
// shutdown keeps from running again.
//
// The texts of errors are those of the handlers, and may have secrets.
func (q *Queue[T]) RecentFailures(limit int) (failed, discarded []stats.Failure[T]) {
	q.mustBeMade()
	return q.outcomes.failed.Last(limit), q.outcomes.discarded.Last(limit)
}

func anyFailures[T comparable](rows []stats.Failure[T]) []stats.Failure[any] {
	failures := make([]stats.Failure[any], len(rows))
	for i := range rows {
		failures[i] = rows[i].Any()
	}
	return failures
}
