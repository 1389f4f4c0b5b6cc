package shardq

import (
	"context"
	"fmt"
)

// A batch is what a worker with a HandleBatch works on, kept from turn to turn.
type batch[T any] struct {
	items []T
	from  origins
	// lent is what the handler is given: it may write to that, and the items that are to
	// be Done must stay those that were taken.
	lent     []T
	outcomes []outcome
}

func (w *worker[T]) turnOfBatch(ctx context.Context) error {
	b := &w.batch
	if b.items == nil {
		size := w.options.BatchSize
		b.items, b.lent, b.outcomes = make([]T, size), make([]T, size), make([]outcome, size)
		b.from = newOrigins(size)
	}
	n, err := w.source.takeBatch(ctx, b.items, b.from)
	if err == nil {
		w.processBatch(n)
	}
	return err
}

// processBatch gives the first n items to the handler, and settles what came of each.
func (w *worker[T]) processBatch(n int) {
	w.setLabels()
	items, from, outcomes := w.batch.items[:n], w.batch.from.first(n), w.batch.outcomes[:n]
	defer func() {
		clear(items) // nothing of the queue's refers to an item after its Done
		clear(outcomes)
	}()
	defer w.source.doneBatch(items, from)
	if w.showing {
		w.desk.show(items)
		defer w.showNothing()
	}
	defer forEach(n, func(i int) { w.settle(attempt[T]{items[i], from.of(i), outcomes[i]}) })
	setAll(outcomes, outcome{err: ErrGoexit}) // unless tryBatch returns
	w.tryBatch(items, outcomes)
}

// tryBatch calls the handler.
func (w *worker[T]) tryBatch(items []T, outcomes []outcome) {
	lent := w.batch.lent[:len(items)]
	copy(lent, items)
	returned := false
	defer func() {
		clear(lent)
		if !returned {
			setAll(outcomes, outcomeOfPanic(recover()))
		}
	}()
	readAnswer(w.handleBatch(lent), outcomes)
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
