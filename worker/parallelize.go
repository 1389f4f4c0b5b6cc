package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Parallelize calls do once for each piece, 0 to pieces-1, in at most workers
// goroutines. It returns when all calls have returned. It is for work that is
// known beforehand, and needs no queue.
//
// If a call returns an error, the context of the others ends, no further piece
// starts, and Parallelize returns that error, or the first of several. A piece
// that calls runtime.Goexit fails with [ErrGoexit]. If ctx ends, no further
// piece starts, and Parallelize returns ctx.Err(), unless all pieces had
// started and succeed. If a piece panics, no further piece starts, and
// Parallelize panics in its caller's goroutine with a [*PanicError].
//
// Goroutines take runs of consecutive pieces, which become shorter towards the
// end. Long runs cost little. Short ones let all goroutines end at about the
// same time, although some pieces take longer than others. Within a run pieces
// start in order.
//
// With no pieces it returns nil at once. If workers is less than 1, pieces is
// negative or do is nil, it returns an error at once. (With 0 workers,
// client-go's ParallelizeUntil does nothing, and it never returns an error.)
func Parallelize(ctx context.Context, workers, pieces int, do func(ctx context.Context, piece int) error) error {
	switch {
	case workers < 1:
		return fmt.Errorf("worker: Parallelize was called with %d workers: want 1 or more", workers)
	case pieces < 0:
		return fmt.Errorf("worker: Parallelize was called with %d pieces: want 0 or more", pieces)
	case do == nil:
		return errors.New("worker: Parallelize was called without a function")
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	p := &parallel{context: inner, stop: stop, do: do, workers: min(workers, pieces), pieces: pieces}
	var all sync.WaitGroup
	for range p.workers {
		all.Go(p.work)
	}
	all.Wait()
	return p.result(ctx)
}

// parallel is the state of one Parallelize.
type parallel struct {
	context context.Context
	stop    context.CancelFunc
	do      func(ctx context.Context, piece int) error
	workers int
	pieces  int
	begun   atomic.Int64 // pieces below this have been taken
	skipped atomic.Bool  // the context ended before a piece started

	mu    sync.Mutex
	err   error // the first
	panic *PanicError
}

func (p *parallel) result(ctx context.Context) error {
	switch {
	case p.panic != nil:
		panic(p.panic)
	case p.err != nil:
		return p.err
	case p.skipped.Load():
		return ctx.Err()
	}
	return nil
}

// work runs in each goroutine. A piece that panics or calls Goexit has failed,
// and the others stop, too.
func (p *parallel) work() {
	returned := false
	defer func() {
		if !returned {
			p.broken(recover())
		}
	}()
	for first, end := p.next(); first < end; first, end = p.next() {
		p.run(first, end)
	}
	returned = true
}

// run makes the calls for the pieces from first to end-1.
func (p *parallel) run(first, end int) {
	for piece := first; piece < end; piece++ {
		if p.context.Err() != nil {
			p.skipped.Store(true)
			return
		}
		if err := p.do(p.context, piece); err != nil {
			p.fail(err)
			return
		}
	}
}

// next takes the next run of pieces. It is empty if none are left.
//
// This is guided self-scheduling (Polychronopoulos and Kuck, "Guided
// Self-Scheduling: A Practical Scheduling Scheme for Parallel Supercomputers",
// IEEE Transactions on Computers, 1987): a run is a fixed share of what is
// left. The paper divides it by the number of workers. Here it is half of that,
// so that a goroutine whose first run has only slow pieces does not outlast the
// others.
func (p *parallel) next() (first, end int) {
	for {
		begun := p.begun.Load()
		left := int64(p.pieces) - begun
		if left == 0 {
			return 0, 0
		}
		run := max(1, left/int64(2*p.workers))
		if p.begun.CompareAndSwap(begun, begun+run) {
			return int(begun), int(begun + run)
		}
	}
}

func (p *parallel) fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	p.stop()
}

// broken takes the panic that ended a goroutine, or nil after a Goexit.
func (p *parallel) broken(recovered any) {
	if recovered == nil {
		p.fail(ErrGoexit)
		return
	}
	fault := panicError(recovered)
	p.mu.Lock()
	if p.panic == nil {
		p.panic = fault
	}
	p.mu.Unlock()
	p.stop()
}
