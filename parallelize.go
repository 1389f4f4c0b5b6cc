package shardq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Parallelize calls do for each piece, 0 to pieces-1, in at most so many goroutines, and
// returns when all calls have returned. It needs no queue: it is for work that is known
// beforehand, and of which each part is done once.
//
// When a call returns an error, the context of the others ends, no further piece is begun,
// and Parallelize returns that error: the first, if there are several. A piece that calls
// runtime.Goexit has failed with [ErrGoexit]. If ctx ends, no further piece is begun, and
// Parallelize returns ctx.Err(), unless all had been begun and succeeded. If a piece
// panics, no further piece is begun, and Parallelize panics in its caller's goroutine with
// a [*PanicError] that has the value and the stack.
//
// Goroutines take pieces in runs of consecutive numbers, which become shorter towards the
// end: long ones cost little, and short ones let all come to an end at about the same time
// though some pieces take longer than others. Within a run pieces come in order.
//
// With no pieces it returns nil at once. With workers below 1, pieces below 0, or a nil do
// it returns an error at once. (client-go's ParallelizeUntil does nothing, silently, with 0
// workers, and returns no error if its context ends.)
func Parallelize(ctx context.Context, workers, pieces int, do func(ctx context.Context, piece int) error) error {
	switch {
	case workers < 1:
		return fmt.Errorf("shardq: Parallelize was called with %d workers: want 1 or more", workers)
	case pieces < 0:
		return fmt.Errorf("shardq: Parallelize was called with %d pieces: want 0 or more", pieces)
	case do == nil:
		return errors.New("shardq: Parallelize was called without a function")
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

// parallel is a Parallelize under way.
type parallel struct {
	context context.Context
	stop    context.CancelFunc
	do      func(ctx context.Context, piece int) error
	workers int
	pieces  int
	begun   atomic.Int64 // pieces below this belong to somebody
	skipped atomic.Bool  // somebody left pieces undone

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

// work is what each goroutine does. If a piece ends it, by a panic or a Goexit, that is
// the failure of the piece, and the others stop, too.
func (p *parallel) work() {
	through := false
	defer func() {
		if !through {
			p.broken(recover())
		}
	}()
	for first, end := p.next(); first < end; first, end = p.next() {
		p.run(first, end)
	}
	through = true
}

// run does the pieces from first to end-1.
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

// next takes the next run of pieces, or an empty one if there is none.
//
// This is guided self-scheduling (Polychronopoulos and Kuck, "Guided Self-Scheduling: A
// Practical Scheduling Scheme for Parallel Supercomputers", IEEE Transactions on Computers,
// 1987): a run is a fixed share of what is left. They take one part of as many as there are
// workers; here it is half of that, so that a worker whose first run is of slow pieces only
// does not outlast the others.
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

// broken is called with what a goroutine was ended by: nil for a Goexit.
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
