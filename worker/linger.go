package worker

import (
	"context"
	"errors"

	"github.com/shardq/shardq/internal/foreach"
)

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

// releaseAll releases claims whose items were not processed.
func (w *worker[T]) releaseAll(claims []Claim[T]) {
	defer clear(claims)
	foreach.Do(len(claims), func(i int) {
		if err := claims[i].Release(); err != nil && !errors.Is(err, ErrClaimEnded) {
			w.due = errors.Join(w.due, err)
		}
	})
}
