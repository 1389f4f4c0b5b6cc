// Package queue is a shardq queue as Kubernetes' controllers use one. The
// packages workqueue and kubernetes of this module give it the names and types
// of client-go and of controller-runtime.
//
// A [Queue] pushes its figures to an [Observer], as those libraries do. The
// package imports neither of them, so that the tests of both can run over it.
package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// Options configure a [Queue].
type Options[T comparable] struct {
	// Queue has the options of the shardq queue. New wraps OnAdd.
	Queue shardq.Options[T]
	// Priority makes the queue behave as controller-runtime's priority queue:
	// an item has at most one run to come, and ShutDown discards ready items.
	// If Queue.Shards is zero, the queue has one shard.
	Priority bool
	Observer Observer[T]  // or nil
	Ticker   clock.Ticker // calls the Observer's Update until the shutdown; or nil
	// CountEveryDelay counts also an AddAfter without a delay as a retry.
	CountEveryDelay bool
}

// A Queue has the methods of client-go's rate limiting queues, and of
// controller-runtime's priority queue. It must be made by [New]. For the methods
// without a comment see [shardq.Queue].
type Queue[T comparable] struct {
	queue           *shardq.Queue[T]
	limiter         limiter.Limiter[T]
	observer        Observer[T]
	countEveryDelay bool

	// stop ends the goroutine that calls Update, which running waits for.
	stop    chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

// New returns a queue, or an error that lists the faults of the options.
func New[T comparable](options Options[T]) (*Queue[T], error) {
	if options.Queue.RateLimiter == nil {
		options.Queue.RateLimiter = limiter.NewExponential[T](5*time.Millisecond, 1000*time.Second)
	}
	q := &Queue[T]{
		limiter: options.Queue.RateLimiter, observer: options.Observer,
		countEveryDelay: options.CountEveryDelay, stop: make(chan struct{}),
	}
	if next := options.Queue.OnAdd; q.observer != nil {
		options.Queue.OnAdd = func(a stats.Add[T]) {
			if q.observer.Added(a); next != nil {
				next(a)
			}
		}
	}
	if options.Priority && options.Queue.Shards == 0 {
		options.Queue.Shards = 1
	}
	var err error
	if q.queue, err = shardq.New(options.Queue); err != nil {
		return nil, err
	}
	if options.Priority {
		engine.Follow(q.queue, engine.Controller)
	}
	if q.observer != nil && options.Ticker != nil {
		q.running.Go(func() { q.update(options.Ticker) })
	}
	return q, nil
}

func (q *Queue[T]) update(ticker clock.Ticker) {
	defer ticker.Stop()
	for {
		select {
		case <-q.stop:
			return
		case <-ticker.C():
			q.observer.Update()
		}
	}
}

// Underlying returns the shardq queue, for what this type does not have. The
// Observer does not learn of what is handed out or done through it.
func (q *Queue[T]) Underlying() *shardq.Queue[T] { return q.queue }

func (q *Queue[T]) Add(item T) { q.AddWith(AddOptions{}, item) }

func (q *Queue[T]) AddAfter(item T, delay time.Duration) { q.addAfter(item, delay, false) }

func (q *Queue[T]) addAfter(item T, delay time.Duration, backoff bool) {
	if q.countEveryDelay && delay <= 0 && q.observer != nil && !q.queue.ShuttingDown() {
		q.observer.Retried()
	}
	q.AddWith(AddOptions{After: delay, backoff: backoff}, item)
}

func (q *Queue[T]) AddRateLimited(item T) {
	if q.countEveryDelay { // client-go asks the limiter in any case
		q.addAfter(item, q.limiter.When(item), true)
		return
	}
	q.AddWith(AddOptions{RateLimited: true}, item)
}

// AddOptions say how [Queue.AddWith] adds items.
type AddOptions struct {
	After time.Duration // the delay
	// RateLimited asks the limiter for a delay, for each item. With an After
	// other than zero, the shorter delay counts.
	RateLimited bool
	Priority    int  // the least of the run
	backoff     bool // After is the limiter's
}

// AddWith adds items. After a shutdown has begun, it does nothing.
func (q *Queue[T]) AddWith(o AddOptions, items ...T) {
	if q.queue.ShuttingDown() {
		return
	}
	for _, item := range items {
		if item != item { // such as NaN: the queue rejects and counts it
			q.queue.Add(item)
			continue
		}
		delay := o.After
		if o.RateLimited {
			if backoff := q.limiter.When(item); delay == 0 || backoff < delay {
				delay = backoff
			}
		}
		if q.observer != nil && delay > 0 {
			q.observer.Retried()
		}
		engine.Of(q.queue).Shards.AddWith(item, shard.Delay{
			Duration: delay, Priority: o.Priority, Retry: delay != 0, Backoff: o.RateLimited || o.backoff,
		})
	}
}

func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority is Get that also returns the item's priority.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	claim, err := q.queue.Claim(context.Background())
	if q.observer != nil && err == nil {
		q.observer.Started(claim.Item, claim.Priority)
	}
	return claim.Item, claim.Priority, err != nil
}

func (q *Queue[T]) Done(item T) {
	if q.observer != nil {
		q.observer.Finished(item)
	}
	q.queue.Done(item)
}

func (q *Queue[T]) Len() int { return q.queue.Len() }

// Depth returns the number of items that are ready or dirty.
func (q *Queue[T]) Depth() (n int) {
	n = q.queue.Len()
	for item := range q.queue.All(stats.Processing) {
		if item.Dirty {
			n++
		}
	}
	return n
}

func (q *Queue[T]) Forget(item T)          { q.queue.Forget(item) }
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }
func (q *Queue[T]) ShuttingDown() bool     { return q.queue.ShuttingDown() }

func (q *Queue[T]) ShutDown() {
	q.queue.ShutDown()
	q.stopUpdates()
}

// ShutDownWithDrain is ShutDown that blocks as [shardq.Queue.ShutDownWithDrain].
func (q *Queue[T]) ShutDownWithDrain() {
	q.queue.ShutDownWithDrain()
	q.stopUpdates()
}

func (q *Queue[T]) stopUpdates() {
	q.once.Do(func() { close(q.stop) })
	q.running.Wait()
}
