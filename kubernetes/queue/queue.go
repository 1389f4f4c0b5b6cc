// Package queue is a shardq queue as Kubernetes' controllers use one. The
// packages workqueue and kubernetes of this module give it the names and types
// of client-go and of controller-runtime.
//
// A [Queue] shows its figures on [Instruments], as those libraries do. The package
// imports neither of them, so that the tests of both can run over it.
package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
)

// Options configure a [Queue].
type Options[T comparable] struct {
	// Queue has the options of the shardq queue. New sets Metrics, if
	// there are Instruments.
	Queue shardq.Options[T]
	// Priority makes the queue behave as controller-runtime's priority queue:
	// an item has at most one run to come, and ShutDown discards ready items.
	// If Queue.Shards is zero, the queue has one shard.
	Priority bool
	// Instruments get the figures of the queue, unless they are nil. They are
	// brought up to date by operations and by each tick of the Ticker, until the shutdown.
	Instruments *Instruments
	Ticker      clock.Ticker // or nil
	// Scraped says that the instruments are read only now and then, so they may
	// lag by a tick.
	Scraped bool
	// CountEveryDelay makes an AddAfter without a delay count as a retry, too.
	CountEveryDelay bool
}

// A Queue has the methods of client-go's rate limiting queues, and of
// controller-runtime's priority queue. It must be made by [New]. For the methods
// without a comment see [shardq.Queue].
type Queue[T comparable] struct {
	queue           *shardq.Queue[T]
	shards          *shard.Set[T] // below the queue
	limiter         limiter.Limiter[T]
	meter           *meter // or nil
	asked           atomic.Bool
	countEveryDelay bool

	// stop ends the goroutine that follows the Ticker, which running waits for.
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
		limiter: options.Queue.RateLimiter, countEveryDelay: options.CountEveryDelay, stop: make(chan struct{}),
	}
	if options.Priority && options.Queue.Shards == 0 {
		options.Queue.Shards = 1
	}
	options.Queue.Metrics = options.Queue.Metrics || options.Instruments != nil
	var err error
	if q.queue, err = shardq.New(options.Queue); err != nil {
		return nil, err
	}
	q.shards = engine.Of(q.queue).Shards
	rules := engine.ClientGo
	if options.Priority {
		rules = engine.Controller
	}
	engine.Follow(q.queue, rules)
	if options.Instruments != nil {
		q.meter = &meter{to: *options.Instruments, read: q.shards.Core.Stats, dirty: q.shards.Core.CountDirty, most: mostAtOnce, known: map[int]bool{}}
		q.meter.taken.Store(nothingTaken)
		if options.Scraped {
			q.meter.most = mostScraped
		}
		q.shards.Core.OnExpiry(q.meter.operated)
		if options.Ticker != nil {
			q.running.Go(func() { q.follow(options.Ticker) })
		}
	}
	return q, nil
}

func (q *Queue[T]) follow(ticker clock.Ticker) {
	defer ticker.Stop()
	for {
		select {
		case <-q.stop:
			return
		case <-ticker.C():
			q.meter.tick()
		}
	}
}

// Underlying returns the shardq queue, for methods that this type does not
// have. The Instruments show changes made through it after the next operation
// of this type, or the next tick.
func (q *Queue[T]) Underlying() *shardq.Queue[T] { return q.queue }

func (q *Queue[T]) Add(item T) { q.AddWith(AddOptions{}, item) }

func (q *Queue[T]) AddAfter(item T, delay time.Duration) { q.addAfter(item, delay, false) }

func (q *Queue[T]) addAfter(item T, delay time.Duration, backoff bool) {
	if q.countEveryDelay && delay <= 0 && q.meter != nil && !q.queue.ShuttingDown() {
		atomic.AddUint64(&q.meter.late, 1)
	}
	q.AddWith(AddOptions{After: delay, backoff: backoff}, item)
}

func (q *Queue[T]) AddRateLimited(item T) {
	if q.countEveryDelay { // client-go asks the limiter in any case
		q.addAfter(item, q.backoff(item), true)
		return
	}
	q.AddWith(AddOptions{RateLimited: true}, item)
}

func (q *Queue[T]) backoff(item T) time.Duration {
	delay := q.limiter.When(item)
	q.shards.Core.CountBackoff()
	return delay
}

// AddOptions say how [Queue.AddWith] adds items.
type AddOptions struct {
	After time.Duration // the delay
	// RateLimited asks the limiter for a delay, for each item. With an After
	// other than zero, the shorter delay counts.
	RateLimited bool
	Priority    int  // the least priority of the run
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
			if backoff := q.backoff(item); delay == 0 || backoff < delay {
				delay = backoff
			}
		}
		q.shards.AddWith(item, shard.Delay{
			Duration: delay, Priority: o.Priority, Retry: delay > 0, Backoff: o.RateLimited || o.backoff,
		})
	}
	q.meter.operated()
}

func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority is Get that also returns the item's priority.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	if !q.asked.Load() {
		q.asked.Store(true)
	}
	claim, err := q.queue.Claim(context.Background())
	if err == nil {
		q.meter.took(claim.Priority)
	} else {
		q.meter.operated() // a worker that leaves after a shutdown
	}
	return claim.Item, claim.Priority, err != nil
}

func (q *Queue[T]) Done(item T) {
	q.queue.Done(item)
	q.meter.operated()
}

func (q *Queue[T]) Len() int { return q.queue.Len() }

// Depth returns the number of items that are ready or dirty. Without metrics, it goes
// through the items in processing.
func (q *Queue[T]) Depth() (n int) {
	if q.meter != nil {
		return q.shards.Core.Depth()
	}
	dirty := map[int]int{}
	q.shards.Core.CountDirty(dirty)
	for _, some := range dirty {
		n += some
	}
	return n + q.queue.Len()
}

// Asked reports whether Get was ever called.
func (q *Queue[T]) Asked() bool { return q.asked.Load() }

func (q *Queue[T]) Forget(item T)          { q.queue.Forget(item) }
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }
func (q *Queue[T]) ShuttingDown() bool     { return q.queue.ShuttingDown() }

func (q *Queue[T]) ShutDown() {
	q.meter.showEach()
	q.queue.ShutDown()
	q.stopUpdates()
}

// ShutDownWithDrain is like ShutDown, but blocks while an item is in
// processing. It treats ready items as client-go's does, or with Priority as
// [shardq.Queue.ShutDownWithDrain] does.
func (q *Queue[T]) ShutDownWithDrain() {
	q.meter.showEach()
	q.queue.ShutDownWithDrain()
	q.stopUpdates()
}

func (q *Queue[T]) stopUpdates() {
	q.once.Do(func() { close(q.stop) })
	q.running.Wait()
	if q.meter != nil {
		q.meter.end()
	}
}
