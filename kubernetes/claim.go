package kubernetes

import (
	"context"
	"errors"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Claims tell a reconciler about the item that it has, and whether it was added
// again meanwhile. A Claims goes into [Options], and around the reconciler of
// the same controller:
//
//	claims := &kubernetes.Claims[reconcile.Request]{}
//	options.NewQueue = kubernetes.NewQueue(kubernetes.Options[reconcile.Request]{Claims: claims})
//	….Complete(claims.Reconciler(r))
type Claims[T comparable] struct {
	// CancelIfAddedAgain cancels the context of a reconcile, with the cause
	// [ErrAddedAgain], when its item is added again, also by its own update.
	// A reconcile that was canceled counts as a success.
	CancelIfAddedAgain bool

	service atomic.Pointer[service[T]]
}

type service[T comparable] struct {
	queue *shardq.Queue[T]
	drain context.Context // ends with the queue; nil without DrainFor
}

var (
	// ErrAddedAgain is the cause of package worker for an item that was added again.
	ErrAddedAgain  = worker.ErrAddedAgain
	errClaimsInUse = errors.New("kubernetes: Options.Claims serves another queue that is not shut down")
)

// serve makes c serve a queue. With drains, contexts live until end is called.
func (c *Claims[T]) serve(q *shardq.Queue[T], drains bool) (end context.CancelFunc, err error) {
	s := &service[T]{queue: q}
	end = func() {}
	if drains {
		s.drain, end = context.WithCancel(context.Background())
	}
	before := c.service.Load()
	if before != nil && !before.queue.ShuttingDown() || !c.service.CompareAndSwap(before, s) {
		end()
		return nil, errClaimsInUse
	}
	return end, nil
}

// With a drain, a context ends with that, and keeps a reconcile's deadline.
func (s *service[T]) context(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc) {
	if s.drain == nil {
		return context.WithCancelCause(parent)
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(s.drain, func() { end(nil) })
	if deadline, ok := parent.Deadline(); ok {
		var timeout context.CancelFunc
		ctx, timeout = context.WithDeadline(ctx, deadline)
		_ = timeout // end ends its parent
	}
	return ctx, func(cause error) {
		stop()
		end(cause)
	}
}

// A Claim tells a reconciler about the item that it has.
type Claim[T comparable] struct {
	claim worker.Claim[T]
	queue *shardq.Queue[T]
	again context.Context // ends when the item is added again
}

func (c *Claim[T]) Item() stats.Item[T] {
	found, _ := c.queue.Lookup(c.claim.Item)
	return found
}

// AddedAgain reports whether the item was added since it was handed out.
func (c *Claim[T]) AddedAgain() bool { return c.again.Err() != nil }

// Again returns a channel that is closed when the item is added again.
func (c *Claim[T]) Again() <-chan struct{} { return c.again.Done() }

type claimKey[T comparable] struct{}

// ClaimFrom returns the claim of the item that is being reconciled.
func ClaimFrom[T comparable](ctx context.Context) (claim *Claim[T], ok bool) {
	claim, ok = ctx.Value(claimKey[T]{}).(*Claim[T])
	return claim, ok
}

// Reconciler returns a reconciler that calls r with a context that has the
// item's [Claim].
func (c *Claims[T]) Reconciler(r reconcile.TypedReconciler[T]) reconcile.TypedReconciler[T] {
	return reconcile.TypedFunc[T](func(ctx context.Context, item T) (reconcile.Result, error) {
		ctx, end := c.begin(ctx, item)
		defer end()
		result, err := r.Reconcile(ctx, item)
		canceled := errors.Is(err, context.Canceled) || errors.Is(err, ErrAddedAgain)
		if canceled && context.Cause(ctx) == ErrAddedAgain {
			return reconcile.Result{}, nil
		}
		return result, err
	})
}

func (c *Claims[T]) begin(ctx context.Context, item T) (with context.Context, end func()) {
	var claim worker.Claim[T]
	s, ok := c.service.Load(), false
	if s != nil {
		claim, ok = engine.ClaimOf(s.queue, item)
	}
	if !ok {
		return ctx, func() {}
	}
	again, tell := context.WithCancelCause(context.Background())
	cancel := context.CancelCauseFunc(func(error) {})
	if c.CancelIfAddedAgain || s.drain != nil {
		ctx, cancel = s.context(ctx)
	}
	stop := claim.Owner().(worker.Watcher).WatchClaim(claim.Token(), func(cause error) {
		if cause != ErrAddedAgain {
			return
		}
		tell(cause)
		if c.CancelIfAddedAgain {
			cancel(cause)
		}
	})
	return context.WithValue(ctx, claimKey[T]{}, &Claim[T]{claim, s.queue, again}), func() {
		stop()
		cancel(nil)
	}
}
