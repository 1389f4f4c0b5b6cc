package worker

import (
	"context"
	"errors"
	"fmt"
)

// A worker takes claims to items, calls the handler, and settles the items.
type worker[T any] struct {
	seat   seat
	pool   *Pool[T]
	claims []Claim[T]      // the buffer to which claims are taken
	lent   []T             // what a HandleBatch gets
	slot   func(items []T) // what the slot of the source is shown with, or nil
	show   func(items []T) // calls slot, if that is set, and may note it; or nil
	shown  [1]T
	known  knownOwner[T]
	claim  [1]Claim[T] // the buffer of Handle: a field, because copying a claim costs some nanoseconds
	more   bool        // the claim is there to process: the end of the last one has made it the next
}

func (w *worker[T]) allocate(size int) { w.claims, w.lent = make([]Claim[T], size), make([]T, size) }

func (w *worker[T]) openSlot() {
	if slots, is := part[Slots[T]](w.pool.source); is {
		w.seat.number, w.slot, w.seat.closeSlot = slots.OpenSlot()
	}
	if w.show == nil {
		w.show = w.slot
	}
}

func (w *worker[T]) turn(ctx context.Context) error {
	if w.pool.batches != nil {
		return w.seat.turnOfBatch(ctx)
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
		w.process()
	}
	return nil
}

func (w *worker[T]) take(ctx context.Context, from int) (n int, err error) {
	if err := w.seat.mayTake(); err != nil {
		return 0, err
	}
	dst := w.claims[from:]
	if w.seat.crew.oneByOne {
		dst = dst[:1]
	}
	n, err = w.pool.source.ClaimBatch(ctx, dst)
	if n == 1 && err == nil && dst[0].owner != nil {
		return n, nil // the usual case
	}
	return w.seat.taken(ctx, from, len(dst), n, err)
}

// taken checks what a ClaimBatch has returned for a part of the buffer.
func (s *seat) taken(ctx context.Context, from, length, n int, err error) (int, error) {
	if n < 0 || n > length {
		return 0, s.refuse(from, from+length, err, fmt.Errorf(
			"worker: Source.ClaimBatch returned %d: want 0 to %d, the length of dst", n, length))
	}
	if s.worker.hasZero(from, from+n) {
		return 0, s.refuse(from, from+n, err, errZeroClaim)
	}
	return n, s.errorBeside(ctx, n, err)
}

func (w *worker[T]) hasZero(from, to int) bool {
	claims := w.claims[from:to]
	for i := range claims {
		if claims[i].owner == nil {
			return true
		}
	}
	return false
}

var errZeroClaim = errors.New("worker: Source.ClaimBatch returned a zero Claim: want claims of NewClaim or of a queue")

// fit weighs the claims from one index to another, and returns how many belong to
// the batch: all until one is too heavy. The first always belongs to it.
func (w *worker[T]) fit(from, to int) int {
	for i := from; i < to && w.pool.weigh != nil; i++ {
		weight := max(0, w.pool.weigh(w.claims[i].Item))
		if i > 0 && weight > w.seat.batch.free {
			return i
		}
		w.seat.batch.free -= weight
	}
	return to
}

func (w *worker[T]) isCanceled(i int) bool {
	_, canceled := changesOf(w.claims[i].owner, w.claims[i].token)
	return canceled
}

func (w *worker[T]) move(to, from int)  { w.claims[to] = w.claims[from] }
func (w *worker[T]) clear(from, to int) { clear(w.claims[from:to]) }
func (w *worker[T]) end(i int) error    { return w.claims[i].Done() }
func (w *worker[T]) leave(i int) error {
	if owner, is := w.claims[i].owner.(leaver[T]); is {
		return owner.LeaveClaim(w.claims[i].Item, w.claims[i].token)
	}
	return w.end(i)
}
func (w *worker[T]) giveBack(i int) error {
	return giveBack(&w.claims[i], &Return{Reason: ReturnRelease})
}

// endTogether returns ErrClaimEnded if the source cannot do that.
func (w *worker[T]) endTogether(n int) error {
	if source, is := w.pool.source.(batchSource[T]); is {
		return source.DoneClaims(w.claims[:n])
	}
	return ErrClaimEnded
}

// done ends the claim of Handle. A worker that stays asks the source for the next
// item at once: one hold of a lock does both.
func (w *worker[T]) done() {
	if w.pool.next == nil || w.seat.mustLeave() {
		w.seat.crew.ended(w.claim[0].Done())
		return
	}
	more, err := w.pool.next(&w.claim[0])
	w.more = more
	w.seat.crew.ended(err)
}

// process settles the item even if the handler ends the goroutine.
func (w *worker[T]) process() {
	w.seat.setLabels()
	w.seat.succeeded = false
	defer func() {
		if !w.more {
			w.claim[0] = Claim[T]{} // nothing refers to an item after its claim
		}
	}()
	defer w.settle()
	defer w.handled()
	w.seat.startWatch(knownReporter(&w.known, &w.claim[0].owner) != nil)
	w.try(w.claim[0].Item)
}

func (w *worker[T]) settle() {
	if w.seat.succeeded && !w.seat.reports && !w.seat.crew.failing.Load() {
		w.done()
		return
	}
	w.seat.settle() // apart, because it has no items
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

// showAndNote is a show that also notes when a handler begins and has ended.
func (w *worker[T]) showAndNote(items []T) {
	defer w.seat.note(len(items) > 0) // also if slot panics
	if w.slot != nil {
		w.slot(items)
	}
}

func (w *worker[T]) try(item T) {
	defer w.seat.tried() // also if the handler does not return
	if w.show != nil {
		w.shown[0] = item
		w.show(w.shown[:])
	}
	if err := w.handle(item); err != nil {
		w.seat.result = outcomeOf(w.seat.crew.context, err, w.seat.late)
		return
	}
	w.seat.succeeded = true
}

// newAttempt has a copy of the claim.
func (w *worker[T]) newAttempt(i int) *attempt {
	f := &failed[T]{claim: w.claims[i], pool: w.pool}
	f.attempt.of = f
	return &f.attempt
}
