package coalesce

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// The compiler can inline the small functions of shard in a program that does
// not import shard only if coalesce exports their bodies. It does because of
// this instantiation. The linker leaves the type out.
var _ = (*Coalescer[uint64, uint64])(nil)

// A Coalescer is a work queue of keys with one pending value for each: see the
// package documentation. It must be made by [New] or [MustNew], and must not be
// copied.
type Coalescer[K comparable, V any] struct {
	queue  *shardq.Queue[K]
	engine engine.Engine[K]
	shards *shard.Set[K] // of the queue
	owner  *owner[K, V]
	seed   maphash.Seed
	merge  func(pending, next V) V
	// weigh is nil if keys are counted.
	weigh          func(V) int
	putEndsBackoff bool
	readable       bool
	linger         time.Duration
	lingerValues   uint32
	// routed says that Hash or Group, which are user code, choose a key's
	// shard.
	routed   bool
	capacity int
	limit    *itemlimit.Limiter
	stripes  stripes[K, V]
	ending   ending
	buffers  sync.Pool // of *keyBuffer[K]
}

// An Entry is a key with its value.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
}

// New returns a coalescer, or an error that lists every fault of the options.
// It starts no goroutine.
func New[K comparable, V any](options Options[K, V]) (*Coalescer[K, V], error) {
	queue, err := shardq.New(options.Queue)
	if err := errors.Join(options.validate(), err); err != nil {
		return nil, err
	}
	below := engine.Of(queue)
	c := &Coalescer[K, V]{
		queue:          queue,
		engine:         below,
		shards:         below.Shards,
		capacity:       options.Capacity,
		seed:           maphash.MakeSeed(),
		merge:          options.Merge,
		weigh:          options.Weight,
		putEndsBackoff: options.PutEndsBackoff,
		readable:       options.Readable,
		linger:         options.Linger,
		lingerValues:   uint32(min(options.LingerValues, math.MaxInt32)),
		routed:         options.Queue.Hash != nil || options.Queue.Group != nil,
		limit:          options.newLimit(),
	}
	c.owner = newOwner(c)
	c.stripes.init()
	c.ending.init(len(c.stripes.all))
	c.engine.OnStats(c.values)
	return c, nil
}

// MustNew is [New] that panics if the options have a fault.
func MustNew[K comparable, V any](options Options[K, V]) *Coalescer[K, V] {
	c, err := New(options)
	if err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	return c
}

// Put merges value into the pending value of key, or makes it the pending
// value. It does not block, and ignores [Options].Capacity. A key in a backoff
// stays delayed, unless [Options].PutEndsBackoff is set.
//
// Put returns [shardq.ErrShutDown] after a shutdown has begun,
// [shardq.ErrRejected] for a key that is not equal to itself, and an error that
// wraps [shardq.ErrFull] if the key's shard can hold no more keys. With an
// error, the value was not accepted.
func (c *Coalescer[K, V]) Put(key K, value V) error {
	return c.put(key, value, forceAcquire)
}

// TryPut is [Coalescer.Put] that honors [Options].Capacity. It returns
// [shardq.ErrFull] if there is no room, or if callers wait in
// [Coalescer.PutContext]. Unless values are weighed, a key with a pending value
// needs no room for another one.
func (c *Coalescer[K, V]) TryPut(key K, value V) error {
	return c.put(key, value, tryAcquire)
}

// PutContext is [Coalescer.TryPut] that blocks until there is room. Callers are
// served in the order in which they began to wait. It returns ctx.Err() if ctx
// ends first, and [shardq.ErrShutDown] if a shutdown begins while it waits.
func (c *Coalescer[K, V]) PutContext(ctx context.Context, key K, value V) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.putWaiting(ctx, key, value)
}

// Take returns the next ready key with its value, and takes the key into
// processing. The caller must call [Coalescer.Done], [Coalescer.Retry] or
// [Coalescer.PutBack] for the key. No other Take returns the key before that.
//
// Take blocks while nothing is ready. It returns ctx.Err() or
// [shardq.ErrShutDown] as [shardq.Queue.GetContext] does. After a shutdown has
// begun, it goes on returning pending values.
func (c *Coalescer[K, V]) Take(ctx context.Context) (key K, value V, err error) {
	var t taken[K, V]
	err = c.take(ctx, &t)
	return t.key, t.value, err
}

// TakeBatch is [Coalescer.Take] for up to len(dst) keys. It blocks until a key
// is ready, takes what is ready then, and returns how many keys it took. If dst
// is empty, it returns 0 at once.
func (c *Coalescer[K, V]) TakeBatch(ctx context.Context, dst []Entry[K, V]) (n int, err error) {
	return c.takeBatch(ctx, len(dst), func(i int, t taken[K, V]) {
		dst[i] = Entry[K, V]{t.key, t.value}
	})
}

// Done ends the processing of key, and the limiter forgets its failures. If the
// key has a pending value, it becomes ready again. A Done of a key that is not
// in processing is misuse, as with [shardq.Queue.Done].
func (c *Coalescer[K, V]) Done(key K) {
	c.land(key)
	defer c.queue.Done(key) // also if the limiter panics
	c.queue.Forget(key)
}

// DoneBatch is [Coalescer.Done] of each of the keys.
func (c *Coalescer[K, V]) DoneBatch(taken []Entry[K, V]) { c.doneBatch(taken) }

// PutBack ends the processing of key and gives its value back. The value
// precedes those that were put for the key since, and the key is ready again at
// once. PutBack needs no room, and counts no failure.
//
// After a shutdown has begun, PutBack does nothing and returns
// [shardq.ErrShutDown], unless a Drain accepts retries. Then the caller still
// has the value, and must call Done.
func (c *Coalescer[K, V]) PutBack(key K, value V) error {
	if c.shards.Reject(key) {
		return shardq.ErrRejected
	}
	return c.putBack(key, value, 0)
}

// Retry is [Coalescer.PutBack] for a value that failed: the key becomes ready
// after the backoff of the queue's limiter. Values that were put since the
// Take, or that are put during the backoff, are delayed with it, unless
// [Options].PutEndsBackoff is set.
func (c *Coalescer[K, V]) Retry(key K, value V) error {
	if c.shards.Reject(key) {
		return shardq.ErrRejected
	}
	if !c.acceptsReturns(c.stripeOf(key)) {
		return shardq.ErrShutDown // before the limiter counts a failure
	}
	delay := c.engine.ReturnDelay(key, worker.Return{Reason: worker.ReturnRetry}) // may panic
	return c.putBack(key, value, delay)
}

// Len returns the number of keys with a pending value.
func (c *Coalescer[K, V]) Len() int { return c.stripes.count().Keys }

// Stats returns a reading of the queue of keys, as [shardq.Queue.Stats] does.
// Its Values count what is pending.
func (c *Coalescer[K, V]) Stats() shardq.Stats { return c.queue.Stats() }

func (c *Coalescer[K, V]) values() *stats.Values {
	v := c.stripes.count()
	v.Capacity, v.OverCapacity, v.Weight = c.capacity, c.limit.Exceeded(), v.Keys
	if c.limit != nil {
		v.Weight = int(min(c.limit.Held(), math.MaxInt)) // what an int can hold
	}
	return &v
}
