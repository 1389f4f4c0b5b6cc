package worker

import (
	"context"
	"errors"
	"runtime/pprof"
	"strconv"

	"github.com/shardq/shardq/internal/foreach"
)

// A seat is the part of a worker that touches no item. A worker runs in one
// goroutine, or in several one after the other: if user code calls
// runtime.Goexit, another goroutine continues.
type seat struct {
	worker  typedWorker
	crew    *crew
	labeled context.Context // the handlers' context, with the worker's pprof label
	stays   context.Context // ends when the worker must leave, or all must
	leave   context.CancelFunc
	number  int // the value of the label "worker"
	// The worker's slot in the source, if it has slots.
	slotted   bool // OpenSlot was called
	closeSlot func()
	watch     stopwatch
	reports   bool    // an owner of the claims wants reports of attempts
	late      bool    // Options.Timeout has ended the attempt that has just failed
	abandoned bool    // Run has abandoned the handler, and its claims have ended
	served    bool    // it has had an item
	n         int     // the number of claims in processing
	succeeded bool    // Handle has returned nil
	result    outcome // of Handle, until it is settled, if it did not succeed
	batch     batch   // of HandleBatch
	// due is the error that Run returns: the source returned it together with
	// claims, which are processed first, or it says what is wrong with them.
	due error
}

// A typedWorker is the worker of a seat. It has a buffer of claims, to which the
// indexes refer.
type typedWorker interface {
	openSlot()
	// turn takes items and processes them. It returns why there were none.
	turn(ctx context.Context) error
	// take fills the buffer from an index on, and returns how many claims there
	// are to process, or why there are none.
	take(ctx context.Context, from int) (n int, err error)
	hasZero(from, to int) bool
	allocate(size int) // the buffer of HandleBatch
	wantsReports(n int) bool
	handleBatch(n int) []error // shows the items, too
	handled()
	reportSuccess(i int)
	newAttempt(i int) *attempt
	move(to, from int)
	end(i int) error
	leave(i int) error // as end, but the item is not done
	endTogether(n int) error
	fit(from, to int) int
	isCanceled(i int) bool
	done() // ends the claim of Handle, and may take the next
	giveBack(i int) error
	clear(from, to int)
}

func (s *seat) sit(c *crew, number int) {
	s.crew, s.number, s.n = c, number, 1
	s.labeled = context.WithValue(c.context, poolKey{}, c.context)
	s.stays, s.leave = context.WithCancel(c.context)
}

// openSlot is called by the worker itself, so no lock is held, and a panic is the
// worker's. If OpenSlot does not return, it is not called again.
func (s *seat) openSlot() {
	if s.slotted {
		return
	}
	s.slotted = true
	defer func() {
		if s.crew.limits.Labels {
			s.labeled = pprof.WithLabels(s.labeled, pprof.Labels("worker", strconv.Itoa(s.number)))
		}
	}()
	s.worker.openSlot()
}

func (s *seat) live() {
	returned, shutDown := false, false
	defer func() {
		switch r := recover(); {
		case r != nil:
			s.crew.fail(panicError(r), nil)
		case !returned:
			go s.live() // runtime.Goexit ends this goroutine
			return
		}
		s.leave()
		defer s.crew.hasLeft(s, shutDown) // whatever closeSlot does
		defer s.crew.catch()
		if s.closeSlot != nil {
			defer s.closeSlot()
		}
		s.release(0, s.batch.held) // after a panic
	}()
	s.openSlot()
	s.setLabels()
	shutDown = s.work()
	returned = true
}

// setLabels labels the goroutine again: a handler may have changed its labels.
func (s *seat) setLabels() {
	if s.crew.limits.Labels {
		pprof.SetGoroutineLabels(s.labeled)
	}
}

// work processes items until the worker must leave. It reports whether the
// source is shut down and has nothing ready.
func (s *seat) work() (shutDown bool) {
	for {
		err := s.worker.turn(s.stays)
		if err != nil && s.mustStay(err) {
			err = s.worker.turn(s.crew.context)
		}
		switch {
		case err == nil:
			continue
		case s.due != nil:
			s.crew.fail(nil, s.due)
		case errors.Is(err, ErrShutDown):
			return true
		case !s.isEnd(err):
			s.crew.fail(nil, err)
		}
		return false
	}
}

// mustStay reports whether a worker that was asked to leave must stay. The race
// would be this: a shutdown begins, and all other workers find nothing ready
// and leave. This worker's item becomes ready again at the end of its claim. If
// it left now, a drain would wait for that item forever. Before a shutdown, the
// workers that stay take the item.
func (s *seat) mustStay(err error) bool {
	source, is := s.crew.source.(endingSource)
	return is && s.isEnd(err) && !errors.Is(err, ErrShutDown) && source.ShuttingDown()
}

// isEnd reports whether an error of the source says that the worker's context
// has ended. A source may fail in another way at that time.
func (s *seat) isEnd(err error) bool {
	return isEndOf(s.stays, err) || isEndOf(s.crew.context, err)
}

func isEndOf(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// mustLeave reports whether the worker takes no more items, for now.
func (s *seat) mustLeave() bool {
	return s.due != nil || s.stays.Err() != nil || s.crew.context.Err() != nil
}

// mayTake returns why the worker must not take items. The context of a turn is
// derived from the crew's, and ends shortly after it. What was claimed in
// between would get a handler whose context has ended.
func (s *seat) mayTake() error {
	if s.due != nil {
		return s.due
	}
	return s.crew.context.Err()
}

// errorBeside returns the error of a turn that got n claims beside err.
func (s *seat) errorBeside(ctx context.Context, n int, err error) error {
	switch {
	case err == nil && n == 0:
		return ctx.Err()
	case err != nil && n > 0:
		s.keepError(ctx, err)
		return nil
	}
	return err
}

// refuse releases the claims that came with a fault of their source.
func (s *seat) refuse(from, to int, err, fault error) error {
	s.due = errors.Join(fault, err)
	s.release(from, to)
	return s.due
}

func (s *seat) release(from, to int) {
	defer s.worker.clear(from, to)
	foreach.Do(to-from, func(i int) {
		if err := s.worker.giveBack(from + i); err != nil && !errors.Is(err, ErrClaimEnded) {
			s.due = errors.Join(s.due, err)
		}
	})
}

// startWatch begins an attempt. Reports: the owner of a claim wants one.
func (s *seat) startWatch(reports bool) {
	s.reports, s.served = reports, true
	s.watch.start(reports || s.crew.timed)
}

// keepError keeps an error until the claims beside it are processed. The source
// returns its end, or that of the context, again: items may be ready by then.
func (s *seat) keepError(ctx context.Context, err error) {
	if !errors.Is(err, ErrShutDown) && !s.isEnd(err) && !isEndOf(ctx, err) {
		s.due = err
	}
}
