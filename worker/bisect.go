package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Bisect returns a HandleBatch that calls write, which writes all items or none,
// as a transaction does. If write fails or panics, it is called for each half,
// and so on until the bad items stand alone: at most 2n - 1 times for n items.
//
// Some errors say nothing about items: a context's, [RequeueAfter], [RetryAfter],
// and those for which ofAll returns true, such as that of a closed connection.
// After one of them, write is not called again, and the items that are not written
// yet have that error. If write calls Goexit, all items fail, also written ones.
func Bisect[T any](write func(context.Context, []T) error, ofAll func(error) bool) func(context.Context, []T) []error {
	return func(ctx context.Context, items []T) []error {
		b := bisection{ctx: ctx, ofAll: ofAll, failed: map[int]error{}}
		b.write = func(from, to int) error { return write(ctx, slices.Clone(items[from:to])) } // it may sort them
		if len(items) > 0 {
			b.part(0, len(items))
		}
		return FailSome(len(items), b.failed)
	}
}

type bisection struct {
	ctx    context.Context
	write  func(from, to int) error
	ofAll  func(error) bool // or nil
	failed map[int]error
	stop   error // says nothing about items
}

func (b *bisection) part(from, to int) {
	switch err, middle := b.try(from, to), (from+to)/2; {
	case err == nil:
	case to-from > 1:
		b.part(from, middle)
		b.part(middle, to)
	default:
		b.failed[from] = err
	}
}

// try recovers panics, because other items may have been written.
func (b *bisection) try(from, to int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicError(r)
		}
	}()
	if b.stop = cmp.Or(b.stop, b.ctx.Err()); b.stop != nil {
		return b.stop
	}
	if err = b.write(from, to); err != nil && b.saysNothing(err) {
		b.stop = err
	}
	return err
}

func (b *bisection) saysNothing(err error) bool {
	_, later := errors.AsType[*retryAfter](err)
	_, again := RequeueDelay(err)
	return later || again || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		b.ofAll != nil && b.ofAll(err)
}
