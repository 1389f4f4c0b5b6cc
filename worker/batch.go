package worker

import (
	"context"
	"errors"
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
		size := w.pool.options.BatchSize
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
	w.watch.start(w.reports || w.pool.timed)
	w.tryBatch(items, outcomes)
}

// settleBatch leaves the claims open of the items that do not run again.
func (w *worker[T]) settleBatch(n int) {
	if w.batch.clean && !w.reports && !w.pool.failing.Load() {
		w.batch.open = n
		return
	}
	foreach.Do(n, w.settleInBatch)
}

func (w *worker[T]) settleInBatch(i int) {
	if w.batch.outcomes[i].err != nil {
		a := w.attempt(w.batch.claims[i], w.batch.outcomes[i])
		defer func() {
			if !a.settled {
				w.batch.keepOpen(i)
			}
		}()
		w.pool.settle(a)
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
			foreach.Do(len(claims), func(i int) { w.pool.ended(claims[i].Done()) })
		}
	}()
	if source, is := w.pool.source.(batchSource[T]); is && !all {
		err := source.DoneClaims(claims)
		all = err == nil
		w.pool.ended(err)
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
	if w.pool.options.Timeout == 0 {
		return w.pool.options.HandleBatch(w.labeled, items)
	}
	ctx, release := context.WithTimeoutCause(w.labeled, w.pool.options.Timeout, w.pool.over)
	defer release()
	errs := w.pool.options.HandleBatch(ctx, items)
	w.late = errs != nil && context.Cause(ctx) == error(w.pool.over)
	return errs
}

func (w *worker[T]) readErrors(errs []error, outcomes []outcome) {
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
				outcomes[i] = outcomeOf(w.pool.context, err, w.late)
			}
		}
	}
}

func setAll(outcomes []outcome, to outcome) {
	for i := range outcomes {
		outcomes[i] = to
	}
}

// take returns the number of claims to process, or why there are none.
func (w *worker[T]) take(ctx context.Context, dst []Claim[T]) (n int, err error) {
	if w.due != nil {
		return 0, w.due
	}
	// ctx is derived from the pool's context, and ends shortly after it. What
	// was claimed in between would get a handler whose context has ended.
	if err := w.pool.context.Err(); err != nil {
		return 0, err
	}
	n, err = w.pool.source.ClaimBatch(ctx, dst)
	switch {
	case n < 0 || n > len(dst):
		return 0, w.refuse(dst, err, fmt.Errorf(
			"worker: Source.ClaimBatch returned %d: want 0 to %d, the length of dst", n, len(dst)))
	case hasZeroClaim(dst[:n]):
		return 0, w.refuse(dst[:n], err, errZeroClaim)
	case err == nil && n == 0:
		return 0, ctx.Err()
	case err != nil && n > 0:
		w.keepError(ctx, err)
		return n, nil
	}
	return n, err
}

var errZeroClaim = errors.New("worker: Source.ClaimBatch returned a zero Claim: want claims of NewClaim or of a queue")

func hasZeroClaim[T any](claims []Claim[T]) bool {
	for i := range claims {
		if claims[i].owner == nil {
			return true
		}
	}
	return false
}

// keepError keeps an error until the claims beside it are processed. The source
// returns its end, or that of the context, again: items may be ready by then.
func (w *worker[T]) keepError(ctx context.Context, err error) {
	if !errors.Is(err, ErrShutDown) && !w.isEnd(err) && !isEndOf(ctx, err) {
		w.due = err
	}
}

// refuse releases the claims that came with a fault of their source.
func (w *worker[T]) refuse(claims []Claim[T], err, fault error) error {
	w.due = errors.Join(fault, err)
	w.releaseAll(claims)
	return w.due
}

// linger fills the rest of a batch of n claims until Options.Linger has passed.
func (w *worker[T]) linger(ctx context.Context, claims []Claim[T], n int) int {
	if w.pool.options.Linger == 0 || n == 0 || n == len(claims) || w.due != nil {
		return n
	}
	ctx, stop := context.WithTimeout(ctx, w.pool.options.Linger)
	defer stop()
	defer context.AfterFunc(w.pool.lingers, stop)()
	returned := false
	defer func() {
		if !returned { // the source has panicked, or ended the goroutine
			w.releaseAll(claims[:n])
		}
	}()
	for n < len(claims) && w.due == nil && ctx.Err() == nil {
		more, err := w.take(ctx, claims[n:])
		n += more
		if errors.Is(err, ErrShutDown) { // the next turn finds that again
			break
		}
		if err != nil {
			w.keepError(ctx, err)
		}
	}
	returned = true
	if w.pool.context.Err() != nil { // a handler could do nothing with them
		w.releaseAll(claims[:n])
		return 0
	}
	return n
}

func (w *worker[T]) releaseAll(claims []Claim[T]) {
	defer clear(claims)
	foreach.Do(len(claims), func(i int) {
		if err := claims[i].Release(); err != nil && !errors.Is(err, ErrClaimEnded) {
			w.due = errors.Join(w.due, err)
		}
	})
}
