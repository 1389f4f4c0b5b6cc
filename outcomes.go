package shardq

import (
	"context"
	"time"

	"github.com/shardq/shardq/internal/attempts"
	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/internal/recent"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// outcomes are what a queue knows of the attempts of workers.
type outcomes struct {
	attempts *attempts.Recorder // nil without metrics
	log      *eventLog          // or nil
	groupOf  func(item any) string
	// They allocate nothing before the first.
	failures, discards recent.Ring[stats.Failure[any]]
	outage             outage
}

const failuresKept = 64 // and as many discards

// A failure is a worker.Failure, with its item as an any.
type failure struct {
	item     any
	attempt  int
	final    bool
	reason   worker.Reason
	err      error
	panicked *worker.PanicError
	now      time.Time
}

// failed counts, logs and keeps a failure. A final one is kept by discarded.
func (o *outcomes) failed(ctx context.Context, f failure) {
	var step outageStep
	if f.reason != worker.ReasonPermanent { // which is about its item
		step = o.outage.fail(f.now)
	}
	text := f.text()
	if o.log != nil {
		defer o.log.failure(ctx, f.item, f.attempt, f.final, text, f.panicked, step)
	}
	if !f.final {
		recent.Add(&o.failures, o.kept(f, text), failuresKept)
	}
}

func (o *outcomes) discarded(ctx context.Context, f failure) {
	text := f.text()
	if o.log != nil {
		defer o.log.discarded(ctx, f.item, f.attempt, f.reason, text, f.panicked)
	}
	kept := o.kept(f, text)
	kept.Reason = f.reason.String()
	recent.Add(&o.discards, kept, failuresKept)
}

func (o *outcomes) succeeded(ctx context.Context, now time.Time) {
	was, failures, lasted := o.outage.succeed(now)
	if was && o.log != nil {
		o.log.outageOver(ctx, failures, lasted)
	}
}

func (o *outcomes) recent(limit int) (failures, discards []stats.Failure[any]) {
	return recent.Last(&o.failures, limit), recent.Last(&o.discards, limit)
}

// kept calls the group function, and text the error's, so no lock may be held.
func (o *outcomes) kept(f failure, text string) stats.Failure[any] {
	return stats.Failure[any]{
		Item: f.item, Group: o.groupOf(f.item), Attempt: f.attempt, Time: f.now,
		Error: text, Panicked: f.panicked != nil, Discarded: f.final,
	}
}

func (f *failure) text() string {
	if f.panicked != nil {
		return keytext.OfError(f.panicked.Value) // without its stack
	}
	return keytext.OfError(f.err)
}
