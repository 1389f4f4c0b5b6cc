package shardq

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/shardq/shardq/worker"
)

// An outage is a run of failed attempts without a success between them, as when
// a service is down. The log has one warning at its beginning, a few while it
// goes on, and one line at its end, whatever the number of failures.
type outage struct {
	mu       sync.Mutex // guards the fields below
	failures int        // since the last success
	began    time.Time  // the first of these
	due      time.Time  // the next warning
	reports  int        // warnings that were due
	outages  uint64     // since the queue was made
}

// outageFailures is the number of failures in a row that begin an outage.
const outageFailures = 5

// outagePauses are the times between the warnings of an outage. The last one
// repeats.
var outagePauses = [...]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// An outageNews is what a failure means for the log.
type outageNews int

const (
	single    outageNews = iota // a failure of its own
	begins                      // an outage begins
	continues                   // an outage goes on, and a warning is due
	known                       // an outage goes on
)

// An outageStep is a failure, after how many others and how much time.
type outageStep struct {
	news     outageNews
	failures int
	lasted   time.Duration
}

// fail counts a failure.
func (o *outage) fail(now time.Time) outageStep {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures++; o.failures == 1 {
		o.began, o.reports = now, 0
	}
	news := continues
	switch {
	case o.failures < outageFailures:
		return outageStep{single, o.failures, 0}
	case o.failures == outageFailures:
		news = begins
		o.outages++
	case now.Before(o.due):
		return outageStep{known, o.failures, 0}
	}
	o.due = now.Add(outagePauses[min(o.reports, len(outagePauses)-1)])
	o.reports++
	return outageStep{news, o.failures, now.Sub(o.began)}
}

// read returns the number of outages, and the failures of the one that lasts.
func (o *outage) read() (outages uint64, failures int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures >= outageFailures {
		failures = o.failures
	}
	return o.outages, failures
}

// succeed ends the run of failures, and reports whether it was an outage.
func (o *outage) succeed(now time.Time) (was bool, failures int, lasted time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	failures, o.failures = o.failures, 0
	return failures >= outageFailures, failures, now.Sub(o.began)
}

// failure logs a failed attempt, unless an outage is known. A panic is a fault
// of the program, whatever happens to the item, so it has a line of its own.
func (l *eventLog) failure(ctx context.Context, item any, attempt int, err error, panicked *worker.PanicError, step outageStep) {
	last := []slog.Attr{slog.Any("error", err), slog.Int("attempt", attempt), l.item(item)}
	of := []slog.Attr{slog.Int("failures", step.failures), slog.Duration("for", step.lasted.Round(time.Millisecond))}
	switch {
	case panicked != nil:
		l.write(ctx, eventPanic, "a handler panicked", slog.Any("panic", panicked.Value),
			slog.String("stack", string(panicked.Stack)), slog.Int("attempt", attempt), l.item(item))
	case step.news == single:
		l.write(ctx, eventFailure, "an attempt failed", last...)
	case step.news == begins:
		l.write(ctx, eventOutage, "an outage begins: no attempt succeeds", append(of, last...)...)
	case step.news == continues:
		l.write(ctx, eventOutage, "an outage goes on: no attempt succeeds", append(of, last...)...)
	}
}

// outageOver logs the end of an outage.
func (l *eventLog) outageOver(ctx context.Context, failures int, lasted time.Duration) {
	l.write(ctx, eventRecovery, "an outage is over: an attempt has succeeded",
		slog.Int("failures", failures), slog.Duration("for", lasted.Round(time.Millisecond)))
}
