package worker

import (
	"context"
	"fmt"

	"github.com/shardq/shardq/internal/foreach"
	"github.com/shardq/shardq/internal/nowait"
)

// A batch is the state of a worker with a HandleBatch, without the items.
type batch struct {
	outcomes []outcome // reused
	// open is the number of claims that end together. They are moved to the
	// front of the buffer, over those that were settled.
	open  int
	clean bool // the handler returned no errors
	held  int  // the claims in the buffer: those beyond the batch begin the next one
	free  int  // what Options.BatchWeight still allows
}

// keepOpen keeps claim i open. Each earlier claim was settled or kept open.
func (s *seat) keepOpen(i int) {
	if s.batch.open < i {
		s.worker.move(s.batch.open, i)
	}
	s.batch.open++
}

func (s *seat) turnOfBatch(ctx context.Context) error {
	if s.batch.outcomes == nil {
		s.batch.outcomes = make([]outcome, s.crew.limits.BatchSize)
		s.worker.allocate(s.crew.limits.BatchSize)
	}
	n, err := s.gather(ctx)
	if n > 0 {
		s.processBatch(n)
	}
	return err
}

// gather returns the number of the items of a batch, or why there are none. A worker
// that must leave begins with what it holds, too.
func (s *seat) gather(ctx context.Context) (n int, err error) {
	b := &s.batch
	s.dropCanceled(b.held)
	if b.held == 0 {
		b.held, err = s.worker.take(ctx, 0)
	}
	b.free = s.crew.limits.BatchWeight
	n = s.worker.fit(0, b.held)
	if s.crew.oneByOne {
		n = s.fill(&nowait.Context{Context: ctx}, n)
	}
	if n = s.linger(ctx, n); s.crew.context.Err() != nil { // a handler could do nothing with them
		s.release(0, b.held)
		n, b.held = 0, 0
	}
	if s.crew.limits.Linger > 0 {
		n = s.dropCanceled(n)
	}
	return n, err
}

// dropCanceled ends the claims of a batch of n whose items were canceled while they
// waited for its begin.
func (s *seat) dropCanceled(n int) (left int) {
	kept := 0
	for i := range s.batch.held {
		if i < n && s.worker.isCanceled(i) {
			s.end(i)
			continue
		}
		if i < n {
			left++
		}
		s.worker.move(kept, i)
		kept++
	}
	s.worker.clear(kept, s.batch.held)
	s.batch.held = kept
	return left
}

// linger fills the rest of a batch of n claims until Options.Linger has passed.
func (s *seat) linger(ctx context.Context, n int) int {
	if s.crew.limits.Linger == 0 || !s.hasRoom(n) {
		return n
	}
	ctx, stop := context.WithTimeout(ctx, s.crew.limits.Linger)
	defer stop()
	defer context.AfterFunc(s.crew.lingers, stop)()
	return s.fill(ctx, n)
}

// fill claims more items for a batch of n until ctx has ended.
func (s *seat) fill(ctx context.Context, n int) int {
	for s.hasRoom(n) && ctx.Err() == nil {
		more, err := s.worker.take(ctx, n)
		s.batch.held += more
		n = s.worker.fit(n, s.batch.held)
		if err != nil {
			s.keepError(ctx, err)
			break
		}
	}
	return n
}

func (s *seat) hasRoom(n int) bool {
	l := &s.crew.limits
	return n > 0 && n == s.batch.held && n < l.BatchSize && (l.BatchWeight == 0 || s.batch.free > 0) && s.due == nil
}

func (s *seat) processBatch(n int) {
	s.setLabels()
	s.n, s.batch.open, s.batch.clean = n, 0, false
	outcomes := s.batch.outcomes[:n]
	setAll(outcomes, outcome{err: ErrGoexit}) // unless tryBatch returns
	defer func() {
		s.batch.held -= n
		for i := range s.batch.held {
			s.worker.move(i, n+i)
		}
		s.worker.clear(s.batch.held, s.batch.held+n)
		clear(outcomes)
	}()
	defer s.endBatch()
	defer s.settleBatch()
	defer s.worker.handled()
	s.startWatch(s.worker.wantsReports(n))
	s.tryBatch(outcomes)
}

// settleBatch leaves the claims open of the items that do not run again.
func (s *seat) settleBatch() {
	if !s.batch.clean {
		foreach.Do(s.n, s.settleInBatch)
		return
	}
	s.batch.open = s.n
	if s.reports || s.crew.failing.Load() {
		foreach.Do(s.n, s.worker.reportSuccess)
	}
}

func (s *seat) settleInBatch(i int) {
	if result := &s.batch.outcomes[i]; result.err != nil {
		s.settleFailed(i, result, s.keepOpen)
		return
	}
	defer s.keepOpen(i) // also if the reporter panics
	s.worker.reportSuccess(i)
}

// endBatch ends the claims of items that succeeded or were discarded. The source
// may leave some open: those of another queue than it embeds.
func (s *seat) endBatch() {
	n := s.batch.open
	if n == 0 || s.abandoned {
		return
	}
	all := false
	defer func() { // also if DoneClaims does not return
		if !all {
			foreach.Do(n, s.end)
		}
	}()
	err := s.worker.endTogether(n)
	all = err == nil
	s.crew.ended(err)
}

func (s *seat) tryBatch(outcomes []outcome) {
	returned := false
	defer func() {
		if !returned {
			setAll(outcomes, outcomeOfPanic(recover()))
		}
	}()
	errs := s.worker.handleBatch(len(outcomes))
	s.batch.clean = errs == nil
	s.readErrors(errs, outcomes)
	returned = true
}

func (w *worker[T]) handleBatch(n int) (errs []error) {
	items, claims := w.lent[:n], w.claims[:n]
	defer clear(items)
	for i := range claims {
		items[i] = claims[i].Item
	}
	if w.show != nil {
		w.show(items)
	}
	if w.seat.crew.limits.Timeout == 0 {
		return w.pool.batches(w.seat.labeled, items)
	}
	w.seat.inTime(w.seat.labeled, func(ctx context.Context) bool {
		errs = w.pool.batches(ctx, items)
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
