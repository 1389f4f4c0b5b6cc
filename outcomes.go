package shardq

import (
	"context"
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
type outcomes struct {
	attempts *attempts.Recorder // nil without metrics
	log      *eventLog          // or nil
	groupOf  func(item any) string
	// They allocate nothing before the first.
	failures, discards recent.Ring[stats.Failure[any]]
	outage             outage
}

const (
	failuresKept = 64  // and as many discards
	longestError = 512 // bytes of a text that is kept
)

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
	if o.log != nil {
		defer o.log.failure(ctx, f.item, f.attempt, f.final, f.err, f.panicked, step)
	}
	if !f.final {
		recent.Add(&o.failures, o.kept(f), failuresKept)
	}
}

func (o *outcomes) discarded(ctx context.Context, f failure) {
	if o.log != nil {
		defer o.log.discarded(ctx, f.item, f.attempt, f.reason, f.err, f.panicked)
	}
	kept := o.kept(f)
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

// kept calls methods of the error and the group function, so no lock may be held.
func (o *outcomes) kept(f failure) stats.Failure[any] {
	return stats.Failure[any]{
		Item: f.item, Group: o.groupOf(f.item), Attempt: f.attempt, Time: f.now,
		Error: errorText(f.err, f.panicked), Panicked: f.panicked != nil, Discarded: f.final,
	}
}

// errorText returns the text of an error, or of a panic without its stack, cut
// if it is long.
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
	return strings.Clone(keytext.Cut(text, longestError)) + "…" // the rest is not kept alive
}

// messageOf leaves a method that panics to package fmt, which shows the panic,
// but takes longer for each error.
func messageOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprint(err)
		}
	}()
	return err.Error()
}
