package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq/internal/foreach"
)

// A worker takes claims to items, calls the handler, and settles the items.
type worker[T any] struct {
	seat  seat
	pool  *Pool[T]
	batch batch[T]        // for HandleBatch
	show  func(items []T) // in the slot of the source, or nil
	shown [1]T
	known knownOwner[T]
	claim [1]Claim[T] // of Handle: a field, because copying a claim costs some nanoseconds
	more  bool        // the claim is there to process: the end of the last one has made it the next
}

func (w *worker[T]) openSlot() {
	defer func() {
		if w.seat.crew.limits.AbandonAfter > 0 {
			w.show = w.noting(w.show)
		}
	}()
	if slots, is := part[Slots[T]](w.pool.source); is {
		w.seat.number, w.show, w.seat.closeSlot = slots.OpenSlot()
	}
}

func (w *worker[T]) turn(ctx context.Context) error {
	if w.pool.options.HandleBatch != nil {
		return w.turnOfBatch(ctx)
	}
	if !w.more {
		n, err := w.take(ctx, 0)
		if n == 0 {
			return err
		}
		w.more = true
	}
	for w.more {
		w.more = false
		w.process(&w.claim[0])
	}
	return nil
}

// buffer is what claims are taken to.
func (w *worker[T]) buffer() []Claim[T] {
	if w.pool.options.HandleBatch != nil {
		return w.batch.claims
	}
	return w.claim[:]
}

func (w *worker[T]) take(ctx context.Context, from int) (n int, err error) {
	if err := w.seat.mayTake(); err != nil {
		return 0, err
	}
	dst := w.buffer()[from:]
	n, err = w.pool.source.ClaimBatch(ctx, dst)
	if n == 1 && err == nil && dst[0].owner != nil {
		return n, nil // the usual case
	}
	if fault := faultOfCount(n, len(dst)); fault != nil {
		return 0, w.refuse(dst, err, fault)
	}
	for i := range n {
		if dst[i].owner == nil {
			return 0, w.refuse(dst[:n], err, errZeroClaim)
		}
	}
	return n, w.seat.errorBeside(ctx, n, err)
}

var errZeroClaim = errors.New("worker: Source.ClaimBatch returned a zero Claim: want claims of NewClaim or of a queue")

func faultOfCount(n, most int) error {
	if n < 0 || n > most {
		return fmt.Errorf("worker: Source.ClaimBatch returned %d: want 0 to %d, the length of dst", n, most)
	}
	return nil
}

// refuse releases the claims that came with a fault of their source.
func (w *worker[T]) refuse(claims []Claim[T], err, fault error) error {
	w.seat.due = errors.Join(fault, err)
	w.releaseAll(claims)
	return w.seat.due
}

func (w *worker[T]) release(n int) { w.releaseAll(w.buffer()[:n]) }

func (w *worker[T]) releaseAll(claims []Claim[T]) {
	defer clear(claims)
	foreach.Do(len(claims), func(i int) { w.seat.released(claims[i].Release()) })
}

// done ends a claim of Handle. A worker that stays asks the source for the next
// item at once: one hold of a lock does both.
func (w *worker[T]) done(claim *Claim[T]) {
	if w.pool.next == nil || w.seat.mustLeave() {
		w.seat.crew.ended(claim.Done())
		return
	}
	more, err := w.pool.next(claim)
	w.more = more
	w.seat.crew.ended(err)
}

// process settles the item even if the handler ends the goroutine.
func (w *worker[T]) process(claim *Claim[T]) {
	w.seat.setLabels()
	result := outcome{err: ErrGoexit} // unless try returns
	defer func() {
		defer func() {
			if !w.more {
				*claim = Claim[T]{} // nothing refers to an item after its claim
			}
		}()
		switch {
		case result.err != nil:
			w.finish(claim, &result)
		case w.seat.reports || w.seat.crew.failing.Load():
			w.succeed(claim)
		default:
			w.done(claim)
		}
	}()
	defer w.handled()
	w.seat.startWatch(w.known.reporterOf(&claim.owner) != nil)
	result = w.try(claim.Item)
}

func (w *worker[T]) succeed(claim *Claim[T]) {
	reported := false
	defer func() {
		if !reported {
			w.seat.crew.ended(claim.Done())
		}
	}()
	w.reportSuccess(claim)
	reported = true
	w.done(claim)
}

// handled is called when the handler has ended, before claims end, because
// afterwards another worker may have the items.
func (w *worker[T]) handled() {
	w.seat.watch.stop()
	if w.show != nil {
		clear(w.shown[:])
		w.show(nil)
	}
}

func (w *worker[T]) try(item T) (result outcome) {
	returned := false
	defer func() {
		if !returned {
			result = outcomeOfPanic(recover())
		}
	}()
	if w.show != nil {
		w.shown[0] = item
		w.show(w.shown[:])
	}
	if err := w.handle(item); err != nil {
		result = outcomeOf(w.seat.crew.context, err, w.seat.late)
	}
	returned = true
	return result
}

// finish settles an item that did not succeed, even if user code panics.
func (w *worker[T]) finish(claim *Claim[T], result *outcome) {
	f := w.newFailed(claim, result)
	defer func() {
		if !f.attempt.settled {
			w.seat.crew.ended(f.claim.Done())
		}
	}()
	f.attempt.settle()
}

func (w *worker[T]) newFailed(claim *Claim[T], result *outcome) *failed[T] {
	f := &failed[T]{claim: *claim, pool: w.pool}
	f.attempt.begin(f, &w.seat, result)
	return f
}
