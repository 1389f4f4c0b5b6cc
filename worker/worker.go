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
	show   func(items []T) // in the slot of the source, or nil
	shown  [1]T
	known  knownOwner[T]
	claim  [1]Claim[T] // the buffer of Handle: a field, because copying a claim costs some nanoseconds
	more   bool        // the claim is there to process: the end of the last one has made it the next
}

func (w *worker[T]) allocate(size int) { w.claims, w.lent = make([]Claim[T], size), make([]T, size) }

func (w *worker[T]) openSlot() {
	if slots, is := part[Slots[T]](w.pool.source); is {
		w.seat.number, w.show, w.seat.closeSlot = slots.OpenSlot()
		w.seat.shows = w.seat.shows || w.show != nil
	}
}

func (w *worker[T]) turn(ctx context.Context) error {
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
	for i := from; i < to; i++ {
		if w.claims[i].owner == nil {
			return true
		}
	}
	return false
}

var errZeroClaim = errors.New("worker: Source.ClaimBatch returned a zero Claim: want claims of NewClaim or of a queue")

func (w *worker[T]) move(to, from int)  { w.claims[to] = w.claims[from] }
func (w *worker[T]) clear(from, to int) { clear(w.claims[from:to]) }
func (w *worker[T]) end(i int) error    { return w.claims[i].Done() }
func (w *worker[T]) giveBack(i int) error {
	return giveBack(&w.claims[i], &Return{Reason: ReturnRelease})
}

// endTogether returns false if the source cannot do that.
func (w *worker[T]) endTogether(n int) (together bool, err error) {
	source, is := w.pool.source.(batchSource[T])
	if is {
		err = source.DoneClaims(w.claims[:n])
	}
	return is, err
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
	w.seat.begin()
	defer forget(w)
	defer w.settle()
	defer w.handled()
	w.seat.startWatch(knownReporter(&w.known, &w.claim[0].owner) != nil)
	w.try(w.claim[0].Item)
}

// forget is called last, because nothing refers to an item after its claim.
func forget[T any](w *worker[T]) {
	if !w.more {
		w.claim[0] = Claim[T]{}
	}
}

func (w *worker[T]) settle() {
	if w.seat.result.err != nil || w.seat.reports || w.seat.crew.failing.Load() {
		w.seat.settle() // apart, because it has no items
		return
	}
	w.done()
}

// handled is called when the handler has ended, before claims end, because
// afterwards another worker may have the items.
func (w *worker[T]) handled() {
	w.seat.watch.stop()
	if w.seat.shows {
		clear(w.shown[:])
		w.showItems(nil)
	}
}

// showItems shows what a handler is about to process, or nothing when it has
// ended.
func (w *worker[T]) showItems(items []T) {
	if w.seat.crew.limits.AbandonAfter > 0 {
		defer w.seat.note(len(items) > 0) // also if show panics
	}
	if w.show != nil {
		w.show(items)
	}
}

func (w *worker[T]) try(item T) {
	defer w.seat.tried() // also if the handler does not return
	if w.seat.shows {
		w.shown[0] = item
		w.showItems(w.shown[:])
	}
	w.seat.returned(w.handle(item))
}

// newAttempt has a copy of the claim.
func (w *worker[T]) newAttempt(i int) *attempt {
	f := &failed[T]{claim: w.claims[i], pool: w.pool}
	f.attempt.of = f
	return &f.attempt
}
