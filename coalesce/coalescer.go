package coalesce

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// This instantiation exports the bodies of the small functions of shard, so that
// they are inlined in a program that does not import shard.
var _ = (*Coalescer[uint64, uint64])(nil)

// A Coalescer is a work queue of keys with one pending value for each. It must
// be made by [New] or [MustNew], and must not be copied.
type Coalescer[K comparable, V any] struct {
	queue     *shardq.Queue[K]
	engine    engine.Engine[K]
	shards    *shard.Set[K] // of the queue
	owner     *owner[K, V]
	seed      maphash.Seed
	options   Options[K, V]
	routed    bool // Hash or Group, which are user code, choose a key's shard
	limit     *itemlimit.Limiter
	stripes   stripes[K, V]
	ending    ending
	undrained leftover[K, V] // of Drains
	buffers   sync.Pool      // of *keyBuffer[K]
	sources   sources
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
		queue: queue, engine: below, shards: below.Shards, seed: maphash.MakeSeed(), options: options,
		routed: options.Queue.Hash != nil || options.Queue.Group != nil, limit: options.newLimit(),
	}
	c.options.LingerValues = min(options.LingerValues, math.MaxInt32) // a line counts in 32 bits
	c.owner = &owner[K, V]{below.Owner.(keyOwner), c}
	c.stripes.init()
	c.ending.open.Store(int32(len(c.stripes.all)))
	c.ending.queueClosed = make(chan struct{})
	c.sources.clock = cmp.Or(options.Queue.Clock, clock.Real())
	c.engine.OnStats(c.values)
	return c, nil
}

// MustNew is like [New] but panics if the options have a fault.
func MustNew[K comparable, V any](options Options[K, V]) *Coalescer[K, V] {
	c, err := New(options)
	if err != nil {
		panic(err.Error())
	}
	return c
}

// Put merges value into the pending value of key, or makes it the pending value. It does
// not block, and ignores [Options].Capacity. It returns [shardq.ErrShutDown] after a
// shutdown has begun, [shardq.ErrRejected] for a key that is not equal to itself, and an
// error that wraps [shardq.ErrFull] if the key's shard can hold no more keys. With an
// error, the value was not accepted.
func (c *Coalescer[K, V]) Put(key K, value V) error {
	p := putter[K, V]{teller: teller[K, V]{c: c, key: key}, value: value}
	return p.begin(forceAcquire) // without options to copy
}

// PutWith puts value as [Coalescer.Put] does, with these options. An unknown
// policy panics.
//
// A key in a backoff stays delayed. With [Options].PutEndsBackoff, Policy
// chooses between the backoff and the delay.
func (c *Coalescer[K, V]) PutWith(key K, value V, options PutOptions) error {
	p := putter[K, V]{teller: teller[K, V]{c: c, key: key}, value: value}
	return p.start(options, forceAcquire)
}

// TryPut is like [Coalescer.PutWith], but returns [shardq.ErrFull] if
// [Options].Capacity has no room, or callers wait in [Coalescer.PutContext].
func (c *Coalescer[K, V]) TryPut(key K, value V, options PutOptions) error {
	p := putter[K, V]{teller: teller[K, V]{c: c, key: key}, value: value}
	return p.start(options, tryAcquire)
}

// PutContext is like [Coalescer.TryPut], but blocks until there is room, in the
// order of the calls. The delay begins when there is room. PutContext returns
// ctx.Err() if ctx ends first. With the context of a handler of this Coalescer,
// it puts the value at once, beyond the capacity if necessary.
func (c *Coalescer[K, V]) PutContext(ctx context.Context, key K, value V, options PutOptions) error {
	p := putter[K, V]{teller: teller[K, V]{c: c, key: key}, value: value}
	return p.await(ctx, options)
}

// PutBatch puts each of the entries as [Coalescer.PutWith] does, in order. It
// stops at the first value that is refused, for example because a shutdown has
// begun, and returns how many were accepted before that one.
func (c *Coalescer[K, V]) PutBatch(entries []Entry[K, V], options PutOptions) (accepted int, err error) {
	for _, e := range entries {
		if err = c.PutWith(e.Key, e.Value, options); err != nil {
			break
		}
		accepted++
	}
	return accepted, err
}

// Take returns the next ready key with its value, and takes the key into processing. The
// caller must call [Coalescer.Done], [Coalescer.Retry] or [Coalescer.PutBack] for the key.
func (c *Coalescer[K, V]) Take(ctx context.Context) (key K, value V, err error) {
	var t taken[K, V]
	err = c.take(ctx, &t)
	return t.key, t.value, err
}

// Done ends the processing of key, and the limiter forgets its failures. If the
// key has a pending value, it becomes ready again.
func (c *Coalescer[K, V]) Done(key K) {
	if c.keepsFlights() {
		c.doneAndLand(key)
		return
	}
	defer c.queue.Done(key) // also if the limiter panics
	c.queue.Forget(key)
}

// PutBack ends the processing of key and gives its value back. The value comes before the
// values that were put since. The key is ready again at once. After a shutdown has begun,
// PutBack does nothing and returns [shardq.ErrShutDown], unless a Drain accepts retries.
// The caller still has the value then, and must call Done.
func (c *Coalescer[K, V]) PutBack(key K, value V) error {
	if c.shards.Reject(key) {
		return shardq.ErrRejected
	}
	return c.putBack(key, value, 0)
}

// Retry is [Coalescer.PutBack] for a value that failed: the key becomes ready
// after the backoff of the queue's limiter.
func (c *Coalescer[K, V]) Retry(key K, value V) error {
	if c.shards.Reject(key) {
		return shardq.ErrRejected
	}
	if !c.acceptsReturns(c.stripeOf(key)) {
		return c.refuseReturn(key, c.shards.HandleOf(key)) // before the limiter counts a failure
	}
	delay := c.engine.ReturnDelay(shard.Handle{}, key, worker.Return{Reason: worker.ReturnRetry}) // may panic
	return c.putBack(key, value, delay)
}

// Run processes the values in the given number of workers. It is the short form of
// [worker.New] and [worker.Pool.Run], with only Workers, Handle and Use. The error of
// handle says what happens to the value, as for [worker.Options].Handle: a value that
// failed goes back. Values that a shutdown left over are in the error of Run, a
// [worker.LeftoverError].
func (c *Coalescer[K, V]) Run(ctx context.Context, workers int, handle func(ctx context.Context, key K, value V) error,
	use ...worker.Middleware[Entry[K, V]]) error {
	options := worker.Options[Entry[K, V]]{Workers: workers, Use: use}
	if handle != nil {
		options.Handle = func(ctx context.Context, e Entry[K, V]) error { return handle(ctx, e.Key, e.Value) }
	}
	pool, err := worker.New(c, options)
	if err != nil {
		return err
	}
	return pool.Run(ctx)
}

// Len returns the number of keys with a pending value.
func (c *Coalescer[K, V]) Len() int { return c.stripes.count().Keys }

// Stats is [shardq.Queue.Stats] of the keys. Its Values count pending values.
func (c *Coalescer[K, V]) Stats() shardq.Stats { return c.queue.Stats() }

func (c *Coalescer[K, V]) values() *stats.Values {
	v := c.stripes.count()
	v.Capacity, v.OverCapacity, v.Weight = c.options.Capacity, c.limit.Exceeded(), v.Keys
	if c.limit != nil {
		v.Weight = int(min(c.limit.Held(), math.MaxInt)) // what an int can hold
	}
	v.Sources = c.sourceStats()
	return &v
}
