package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq/internal/foreach"
)

// take lets the source fill dst. It returns the number of claims to process, or
// why there are none.
func (w *worker[T]) take(ctx context.Context, dst []Claim[T]) (n int, err error) {
	if w.due != nil {
		return 0, w.due
	}
	// ctx is derived from the pool's context, and ends shortly after it. What
	// was claimed in between would get a handler whose context has ended.
	if err := w.context.Err(); err != nil {
		return 0, err
	}
	n, err = w.source.ClaimBatch(ctx, dst)
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

// keepError keeps an error that was returned with claims until they are
// processed. The source returns the end of the source or of the context again:
// some items may be ready once more by then.
func (w *worker[T]) keepError(ctx context.Context, err error) {
	if !errors.Is(err, ErrShutDown) && !w.isEnd(err) && !isEndOf(ctx, err) {
		w.due = err
	}
}

// refuse releases the claims that came with a fault of their source. It returns
// the fault, joined with other errors.
func (w *worker[T]) refuse(claims []Claim[T], err, fault error) error {
	w.due = errors.Join(fault, err)
	w.releaseAll(claims)
	return w.due
}

// linger fills the rest of a batch of n claims: it claims what becomes ready
// until the batch is full or Options.Linger has passed. It returns the number
// of claims.
func (w *worker[T]) linger(ctx context.Context, claims []Claim[T], n int) int {
	if w.options.Linger == 0 || n == 0 || n == len(claims) || w.due != nil {
		return n
	}
	ctx, stop := context.WithTimeout(ctx, w.options.Linger)
	defer stop()
	defer context.AfterFunc(w.lingers, stop)()
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
	if w.context.Err() != nil { // a handler could do nothing with them
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
