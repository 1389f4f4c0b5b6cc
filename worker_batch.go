package shardq

import (
	"context"
	"fmt"
)

// A batch is what a worker with a HandleBatch works on, kept from turn to turn.
type batch[T any] struct {
	claims []Claim[T]
	// lent is what the handler is given.
	lent     []T
	outcomes []outcome
	// open counts the claims that are to be ended together. They come first, in place
	// of those that were looked at.
	open int
}

// keepOpen keeps the claim i open, which no later one has the place of.
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
	if n > 0 {
		w.processBatch(n)
	}
	return err
}

// processBatch gives the first n items to the handler, and settles what came of each.
func (w *worker[T]) processBatch(n int) {
	w.setLabels()
	claims, outcomes := w.batch.claims[:n], w.batch.outcomes[:n]
	items := w.batch.lent[:n]
	for i := range claims {
		items[i] = claims[i].Item
	}
	w.batch.open = 0
	setAll(outcomes, outcome{err: ErrGoexit}) // unless tryBatch returns
	defer func() {
		clear(claims) // nothing of the source's refers to an item after its Done
		clear(outcomes)
	}()
	defer func() { w.endBatch(claims[:w.batch.open]) }()
	defer forEach(n, w.settleInBatch)
	defer w.showNothing()
	w.tryBatch(items, outcomes)
}

// settleInBatch settles an item of the batch, and leaves its claim open unless it comes
// again.
func (w *worker[T]) settleInBatch(i int) {
	if w.batch.outcomes[i].err == nil {
		w.batch.keepOpen(i)
		return
	}
	a := &attempt[T]{claim: w.batch.claims[i], outcome: w.batch.outcomes[i]}
	defer func() {
		if !a.settled {
			w.batch.keepOpen(i)
		}
	}()
	w.settle(a)
}

// endBatch ends claims whose items are through, or given up. Not all of them need be the
// source's: it may embed a queue, whose DoneClaims leaves those of others open.
func (w *worker[T]) endBatch(claims []Claim[T]) {
	all := false
	defer func() { // also if DoneClaims does not return
		if !all {
			forEach(len(claims), func(i int) { w.ended(claims[i].Done()) })
		}
	}()
	if source, is := w.source.(batchSource[T]); is {
		err := source.DoneClaims(claims)
		all = err == nil
		w.ended(err)
	}
}

// tryBatch shows the items, and calls the handler.
func (w *worker[T]) tryBatch(items []T, outcomes []outcome) {
	returned := false
	defer func() {
		clear(items)
		if !returned {
			setAll(outcomes, outcomeOfPanic(recover()))
		}
	}()
	if w.showing != nil {
		w.showing(items)
	}
	readAnswer(w.handleBatch(items), outcomes)
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

// readAnswer reads what a handler returned for a batch.
func readAnswer(errs []error, outcomes []outcome) {
	switch {
	case errs == nil:
		clear(outcomes)
	case len(errs) != len(outcomes):
		setAll(outcomes, outcome{err: fmt.Errorf(
			"shardq: HandleBatch returned %d errors for %d items: want as many, or nil", len(errs), len(outcomes))})
	default:
		for i, err := range errs {
			outcomes[i] = outcomeInBatch(err)
		}
	}
}

// outcomeInBatch is outcomeOf that takes a panic for the failure of this item alone:
// others may have succeeded.
func outcomeInBatch(err error) (result outcome) {
	read := false
	defer func() {
		if !read {
			result = outcomeOfPanic(recover())
		}
	}()
	result = outcomeOf(err)
	read = true
	return result
}

func setAll(outcomes []outcome, to outcome) {
	for i := range outcomes {
		outcomes[i] = to
	}
}
