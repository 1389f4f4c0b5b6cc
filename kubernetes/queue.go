package kubernetes

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes/internal/instruments"
	"github.com/shardq/shardq/kubernetes/queue"
)

// Options configure the queue of a controller.
type Options[T comparable] struct {
	// Queue has the options of the shardq queue. NewQueue sets Name and
	// RateLimiter. If Shards is zero, the queue has one, so that the order is
	// that of controller-runtime.
	Queue shardq.Options[T]
	// MetricsProvider gets client-go's seven metrics, and the depth of each
	// priority if it has the method NewDepthMetricWithPriority. If nil, it is
	// [Metrics], and in busy times the metrics lag by up to half a second.
	MetricsProvider workqueue.MetricsProvider
	// NoPriorities makes NewQueue return a queue without priorities, as
	// controllers with UsePriorityQueue: false have: items in the order of
	// their adds, the depth with priority="", and a ShutDown after which ready
	// items are still handed out. NewQueue cannot know the controller's
	// UsePriorityQueue.
	NoPriorities bool
	// Claims, if not nil, tell the reconciler about the item that it has.
	Claims *Claims[T]
	// DrainFor makes ShutDown wait while the workers go on with ready items,
	// for at most this time, before it discards the rest. With Claims, the
	// contexts of reconcilers end with the drain. Without Claims, the
	// controller has ended these contexts before, and reconcilers must go on
	// all the same. A manager waits for a controller no longer than its
	// GracefulShutdownTimeout.
	DrainFor time.Duration
}

// NewQueue returns a function for NewQueue in the Options of a controller. It makes a
// [Queue], or with NoPriorities a queue that is no PriorityQueue. It panics if the
// options have a fault.
func NewQueue[T comparable](options Options[T]) func(
	name string, limiter workqueue.TypedRateLimiter[T],
) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		options := options // the function may be called for several controllers
		options.Queue.Name = name
		if limiter != nil {
			options.Queue.RateLimiter = limiter
		}
		made, err := newQueue[T](options)
		if err != nil {
			panic(err)
		}
		return made
	}
}

func newQueue[T comparable](options Options[T]) (workqueue.TypedRateLimitingInterface[T], error) {
	if !options.NoPriorities {
		return New(options)
	}
	if options.DrainFor > 0 {
		return nil, errors.New("kubernetes: Options.DrainFor is set: want none with NoPriorities, whose ShutDown hands out what is ready")
	}
	made, endClaims, err := open(options)
	if err != nil {
		return nil, err
	}
	return &plain[T]{made, endClaims}, nil
}

// A plain queue has the methods of client-go's.
type plain[T comparable] struct {
	*queue.Queue[T]
	endClaims context.CancelFunc
}

func (q *plain[T]) ShutDown() {
	q.Queue.ShutDown()
	closed(q.Queue, q.endClaims)
}

func (q *plain[T]) ShutDownWithDrain() {
	q.Queue.ShutDownWithDrain()
	closed(q.Queue, q.endClaims)
}

// A Queue is a [priorityqueue.PriorityQueue]. It must be made by [New] or by
// the function that [NewQueue] returns. It is safe for concurrent use.
type Queue[T comparable] struct {
	*queue.Queue[T]
	drainFor time.Duration
	// endClaims ends the contexts that the drain has kept alive.
	endClaims context.CancelFunc
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*Queue[reconcile.Request])(nil)

// New returns a queue, or an error that lists the faults of the options.
// [Handler] keeps and shows the queue until ShutDown.
func New[T comparable](options Options[T]) (*Queue[T], error) {
	if options.NoPriorities {
		return nil, errors.New("kubernetes: Options.NoPriorities is set: want NewQueue, because a Queue has priorities")
	}
	made, endClaims, err := open(options)
	if err != nil {
		return nil, err
	}
	return &Queue[T]{Queue: made, drainFor: options.DrainFor, endClaims: endClaims}, nil
}

func open[T comparable](options Options[T]) (made *queue.Queue[T], endClaims context.CancelFunc, err error) {
	all := queue.Options[T]{Queue: options.Queue, Priority: !options.NoPriorities, CountEveryDelay: options.NoPriorities}
	if options.NoPriorities && all.Queue.Shards == 0 {
		all.Queue.Shards = 1
	}
	if name := options.Queue.Name; name != "" {
		provider := options.MetricsProvider
		if all.Scraped = provider == nil; all.Scraped {
			provider = Metrics()
		}
		to := instruments.Of(name, provider, !options.NoPriorities)
		all.Instruments = &to
		all.Ticker = clock.RealClock{}.NewTicker(500 * time.Millisecond) // as controller-runtime
	}
	if made, err = queue.New(all); err != nil {
		return nil, nil, err
	}
	if options.Claims != nil {
		if endClaims, err = options.Claims.serve(made.Underlying(), options.DrainFor > 0); err != nil {
			made.ShutDown()
			return nil, nil, err
		}
	}
	pages.set(made.Underlying(), true)
	return made, endClaims, nil
}

func closed[T comparable](q *queue.Queue[T], endClaims context.CancelFunc) {
	if endClaims != nil {
		endClaims()
	}
	pages.set(q.Underlying(), false)
}

// AddWithOpts adds items. After a shutdown has begun, it does nothing.
func (q *Queue[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	with := queue.AddOptions{After: o.After, RateLimited: o.RateLimited}
	if o.Priority != nil {
		with.Priority = *o.Priority
	}
	q.AddWith(with, items...)
}

// Len returns the number of ready and of dirty items, as in controller-runtime.
func (q *Queue[T]) Len() int { return q.Depth() }

// ShutDown ends the queue, and discards ready items. With [Options].DrainFor it
// first blocks for that time, or until nothing is left. It does not block if no
// worker has ever called Get, as in a replica that never led.
func (q *Queue[T]) ShutDown() {
	if q.drainFor > 0 && q.Asked() {
		ctx, cancel := context.WithTimeout(context.Background(), q.drainFor)
		defer cancel()
		_, _ = q.Underlying().Drain(ctx, shardq.DrainOptions{})
	}
	q.Queue.ShutDown()
	closed(q.Queue, q.endClaims)
}

// ShutDownWithDrain is ShutDown, as in controller-runtime.
func (q *Queue[T]) ShutDownWithDrain() { q.ShutDown() }

// ByNamespace is a function for Group in the options of a queue. Namespaces take
// turns within a priority, so that one with many objects does not delay others.
func ByNamespace(r reconcile.Request) string { return r.Namespace }
