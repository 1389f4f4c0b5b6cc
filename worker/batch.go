package worker

import (
	"context"
	"fmt"

	"github.com/shardq/shardq/internal/foreach"
)

// A batch is the buffers of a worker with a HandleBatch. They are reused.
type batch[T any] struct {
	claims   []Claim[T]
	lent     []T // what the handler gets
	outcomes []outcome
	// open is the number of claims that end together. They are moved to the
	// front of claims, over those that were settled.
	open  int
	clean bool // the handler returned no errors
}

// keepOpen keeps claim i open. Each earlier claim was settled or kept open.
func (b *batch[T]) keepOpen(i int) {
	if b.open < i {
		b.claims[b.open] = b.claims[i]
	}
	b.open++
}

func (w *worker[T]) turnOfBatch(ctx context.Context) error {
	b := &w.batch
	if b.claims == nil {
		size := w.seat.crew.limits.BatchSize
		b.claims, b.lent, b.outcomes = make([]Claim[T], size), make([]T, size), make([]outcome, size)
	}
	n, err := w.take(ctx, 0)
	if n = w.seat.linger(ctx, n); n > 0 {
		w.processBatch(n)
	}
	return err
}

func (w *worker[T]) processBatch(n int) {
	w.seat.setLabels()
	claims, outcomes := w.batch.claims[:n], w.batch.outcomes[:n]
	items := w.batch.lent[:n]
	for i := range claims {
		items[i] = claims[i].Item
	}
	w.batch.open, w.batch.clean = 0, false
	setAll(outcomes, outcome{err: ErrGoexit}) // unless tryBatch returns
	defer func() {
		clear(claims) // nothing refers to an item after its claim
		clear(outcomes)
	}()
	defer func() { w.endBatch(claims[:w.batch.open]) }()
	defer w.settleBatch(n)
	defer w.handled()
	w.seat.startWatch(w.wantsReports(claims))
	w.tryBatch(items, outcomes)
}

// settleBatch leaves the claims open of the items that do not run again.
func (w *worker[T]) settleBatch(n int) {
	if w.batch.clean && !w.seat.reports && !w.seat.crew.failing.Load() {
		w.batch.open = n
		return
	}
	foreach.Do(n, w.settleInBatch)
}

func (w *worker[T]) settleInBatch(i int) {
	if w.batch.outcomes[i].err != nil {
		f := w.newFailed(&w.batch.claims[i], &w.batch.outcomes[i])
		defer func() {
			if !f.attempt.settled {
				w.batch.keepOpen(i)
			}
		}()
		f.attempt.settle()
		return
	}
	defer w.batch.keepOpen(i) // also if the reporter panics
	w.reportSuccess(&w.batch.claims[i])
}

// endBatch ends the claims of items that succeeded or were discarded. DoneClaims
// may leave some open: those of another queue than the source embeds.
func (w *worker[T]) endBatch(claims []Claim[T]) {
	all := len(claims) == 0 || claims[0].owner == nil // Run has abandoned the handler
	defer func() {                                    // also if DoneClaims does not return
		if !all {
			foreach.Do(len(claims), func(i int) { w.seat.crew.ended(claims[i].Done()) })
		}
	}()
	if source, is := w.pool.source.(batchSource[T]); is && !all {
		err := source.DoneClaims(claims)
		all = err == nil
		w.seat.crew.ended(err)
	}
}

func (w *worker[T]) tryBatch(items []T, outcomes []outcome) {
	returned := false
	defer func() {
		clear(items)
		if !returned {
			setAll(outcomes, outcomeOfPanic(recover()))
		}
	}()
	if w.show != nil {
		w.show(items)
	}
	errs := w.handleBatch(items)
	w.batch.clean = errs == nil
	w.seat.readErrors(errs, outcomes)
	returned = true
}

func (w *worker[T]) handleBatch(items []T) (errs []error) {
	if w.seat.crew.limits.Timeout == 0 {
		return w.pool.options.HandleBatch(w.seat.labeled, items)
	}
	w.seat.inTime(w.seat.labeled, func(ctx context.Context) bool {
		errs = w.pool.options.HandleBatch(ctx, items)
		return errs != nil
	})
	return errs
}

func (s *seat) readErrors(errs []error, outcomes []outcome) {
	switch {
	case errs == nil:
		clear(outcomes)
	case len(errs) != len(outcomes):
		setAll(outcomes, outcome{err: fmt.Errorf(
			"worker: HandleBatch returned %d errors for %d items: want as many, or nil", len(errs), len(outcomes))})
	default:
		for i, err := range errs {
			outcomes[i] = outcome{}
			if err != nil {
				outcomes[i] = outcomeOf(s.crew.context, err, s.late)
			}
		}
	}
}

func setAll(outcomes []outcome, to outcome) {
	for i := range outcomes {
		outcomes[i] = to
	}
}
