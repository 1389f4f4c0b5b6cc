package worker

import (
	"context"
	"fmt"

	"github.com/shardq/shardq/internal/foreach"
)

// A batch is the buffers of a worker with a HandleBatch. They are reused.
type batch[T any] struct {
	claims []Claim[T]
	// lent is the slice that the handler gets.
	lent     []T
	outcomes []outcome
	// open is the number of claims that end together. They are moved to the
	// front of claims, over those that were settled.
	open int
	// clean says that the handler returned no errors.
	clean bool
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
		size := w.options.BatchSize
		b.claims, b.lent, b.outcomes = make([]Claim[T], size), make([]T, size), make([]outcome, size)
	}
	n, err := w.take(ctx, b.claims)
	if n = w.linger(ctx, b.claims, n); n > 0 {
		w.processBatch(n)
	}
	return err
}

func (w *worker[T]) processBatch(n int) {
	w.setLabels()
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
	w.reports = w.wantsReports(claims)
	w.watch.start(w.reports || w.timed)
	w.tryBatch(items, outcomes)
}

// settleBatch settles the items, and leaves the claims open of those that do
// not run again.
func (w *worker[T]) settleBatch(n int) {
	if w.batch.clean && !w.reports && !w.failing.Load() {
		w.batch.open = n
		return
	}
	foreach.Do(n, w.settleInBatch)
}

func (w *worker[T]) settleInBatch(i int) {
	switch {
	case w.batch.outcomes[i].err != nil:
		w.failInBatch(i)
	case w.reports || w.failing.Load():
		w.succeedInBatch(i)
	default:
		w.batch.keepOpen(i)
	}
}

func (w *worker[T]) failInBatch(i int) {
	a := &attempt[T]{claim: w.batch.claims[i], outcome: w.batch.outcomes[i], took: w.watch.took, worker: w.number}
	defer func() {
		if !a.settled {
			w.batch.keepOpen(i)
		}
	}()
	w.settle(a)
}

func (w *worker[T]) succeedInBatch(i int) {
	defer w.batch.keepOpen(i) // also if the reporter panics
	w.reportSuccess(&w.batch.claims[i])
}

// endBatch ends the claims of items that succeeded or were discarded.
// DoneClaims may leave some open: the source may embed a queue and hand out
// claims of others as well.
func (w *worker[T]) endBatch(claims []Claim[T]) {
	all := false
	defer func() { // also if DoneClaims does not return
		if !all {
			foreach.Do(len(claims), func(i int) { w.ended(claims[i].Done()) })
		}
	}()
	if source, is := w.source.(batchSource[T]); is {
		err := source.DoneClaims(claims)
		all = err == nil
		w.ended(err)
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
	w.readErrors(errs, outcomes)
	returned = true
}

func (w *worker[T]) handleBatch(items []T) []error {
	if w.options.Timeout == 0 {
		return w.options.HandleBatch(w.labeled, items)
	}
	ctx, release := context.WithTimeout(w.labeled, w.options.Timeout)
	defer release()
	return w.options.HandleBatch(ctx, items)
}

func (p *Pool[T]) readErrors(errs []error, outcomes []outcome) {
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
				outcomes[i] = p.outcomeInBatch(err)
			}
		}
	}
}

// outcomeInBatch is outcomeOf, except that a panic of a method of the error is
// the failure of this item alone. Others may have succeeded.
func (p *Pool[T]) outcomeInBatch(err error) (result outcome) {
	read := false
	defer func() {
		if !read {
			result = outcomeOfPanic(recover())
		}
	}()
	result = p.outcomeOf(err)
	read = true
	return result
}

func setAll(outcomes []outcome, to outcome) {
	for i := range outcomes {
		outcomes[i] = to
	}
}
