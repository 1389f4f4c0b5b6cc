package shardq

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"

	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard"
)

// A Coalescer is a [Queue] of keys with a value for each: what is put for a key that
// has a value already is merged into that, and a worker takes the key together with
// all that was put for it. A burst of a million events of a thousand keys becomes a
// thousand values.
//
// It must be made by [NewCoalescer] or [MustCoalescer], and must not be copied.
// A worker that takes a key owes it one of [Coalescer.Done], [Coalescer.Retry] and
// [Coalescer.PutBack]:
//
//	for {
//		key, value, err := c.Take(ctx)
//		if err != nil {
//			return
//		}
//		if err := write(key, value); err != nil {
//			c.Retry(key, value) // again, later each time, with what comes meanwhile
//		} else {
//			c.Done(key)
//		}
//	}
//
// Every value that was put is in exactly one value that is taken, or that Drain returns:
// none is lost, and none comes twice. The values of a key merge in the order of the
// Puts, as far as one returned before the next began. No two workers have the same key at
// once: a value that is put while a worker has the key comes when that is over.
//
// All methods are safe for concurrent use. Merge and Weight are called with no lock held,
// in the goroutine of the call that needs them. No method waits for a Merge of another
// goroutine: what is put while the key's value is being merged is laid beside that, and merged
// by a later call. If Merge or Weight panics, the panic reaches the caller. A Put whose
// Merge panics did not take its value in, though Merge may have changed what is pending; a
// Take whose Merge panics leaves the values where they are, to be taken one by one. No
// other value is lost by that.
//
// Each pending key costs about a hundred bytes beside key and value; what a burst needed is
// given back. In steady state nothing is allocated, unless Puts of one key meet.
type Coalescer[K comparable, V any] struct {
	queue *Queue[K]
	seed  maphash.Seed
	merge func(pending, next V) V
	// weigh is nil if keys are counted.
	weigh          func(V) int
	putEndsBackoff bool
	// routed says that code of the user's tells where a key belongs.
	routed   bool
	capacity int
	limit    *itemlimit.Limiter
	stripes  coalescerStripes[K, V]
	ending   coalescerEnding
	buffers  sync.Pool // of *keyBuffer[K]
}

// MaxValueWeight is the greatest weight that a value of a [Coalescer] can have: a
// tebibyte, if a weight is of bytes.
//
// On 32-bit platforms it is the greatest int, 1<<31 - 1, because a Weight returns
// an int.
const MaxValueWeight = min(1<<40, math.MaxInt)

// CoalescerOptions configure a [Coalescer].
type CoalescerOptions[K comparable, V any] struct {
	// Queue configures the queue of keys. Its Capacity must be 0: the coalescer has its
	// own. Its CancelDelayOnAdd is ignored: see PutEndsBackoff.
	Queue Options[K]

	// Merge returns the value of both: what is pending, and what came next. It may
	// change and return either. It must be associative, that is, it must come to the same
	// whether the first two of three values are merged first, or the last two. It must be
	// safe for concurrent use if it touches anything but its arguments. Required.
	Merge func(pending, next V) V

	// Capacity is how many keys may have a pending value, or, with a Weight, how much the
	// pending values may weigh, for those who ask for room: [Coalescer.TryPut] and
	// [Coalescer.PutContext]. What workers have taken does not count. Default: 0, no bound.
	Capacity int

	// Weight returns the weight of a value, such as its bytes. Less than 1 counts as 1, and
	// more than [MaxValueWeight] as that. A value that is put needs room for its own weight;
	// when it was merged, the room of both becomes that of Weight(merged), which may exceed
	// the Capacity if merged values weigh more than their parts. A value that weighs more
	// than the Capacity has room when nothing else is pending. Default: keys are counted.
	Weight func(V) int

	// PutEndsBackoff makes a key ready at once when a value is put for it while it waits for
	// its retry, or has been put since it was taken. It suits values that make the failed
	// attempt obsolete. Each such Put costs an attempt, so a key that gets many
	// values comes to WorkerOptions.MaxAttempts in a short time, and loads what it
	// fails at. If false, these values are merged, and the key waits on.
	PutEndsBackoff bool
}

// Pending is a key with its value.
type Pending[K comparable, V any] struct {
	Key   K
	Value V
}

// NewCoalescer returns a coalescer, or an error that lists every fault of the options. Like
// [New] it starts no goroutine and sets no timer.
func NewCoalescer[K comparable, V any](options CoalescerOptions[K, V]) (*Coalescer[K, V], error) {
	options.Queue.CancelDelayOnAdd = options.PutEndsBackoff // which Configuration shows
	queue, err := New(options.Queue)
	if err := errors.Join(options.validate(), err); err != nil {
		return nil, err
	}
	c := &Coalescer[K, V]{
		queue:          queue,
		capacity:       options.Capacity,
		seed:           maphash.MakeSeed(),
		merge:          options.Merge,
		weigh:          options.Weight,
		putEndsBackoff: options.PutEndsBackoff,
		routed:         options.Queue.Hash != nil || options.Queue.Group != nil,
		limit:          options.newLimit(),
	}
	c.stripes.init()
	c.ending.init(len(c.stripes.all))
	queue.values = c.values
	return c, nil
}

// MustCoalescer is like [NewCoalescer] but panics if the options have a fault.
func MustCoalescer[K comparable, V any](options CoalescerOptions[K, V]) *Coalescer[K, V] {
	c, err := NewCoalescer(options)
	if err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	return c
}

// validate returns one error that names every fault, or nil, but for those of Queue.
func (o CoalescerOptions[K, V]) validate() error {
	var faults []error
	if o.Merge == nil {
		faults = append(faults, errors.New("shardq: CoalescerOptions.Merge is nil: want a function"))
	}
	if o.Capacity < 0 {
		faults = append(faults, fmt.Errorf("shardq: CoalescerOptions.Capacity is %d: want 0 (no bound) or more", o.Capacity))
	}
	if o.Queue.Capacity != 0 {
		faults = append(faults, fmt.Errorf("shardq: CoalescerOptions.Queue.Capacity is %d: want 0, and CoalescerOptions.Capacity instead", o.Queue.Capacity))
	}
	return errors.Join(faults...)
}

// newLimit returns the limiter of the values, or nil if there is neither a
// capacity nor a Weight function.
func (o CoalescerOptions[K, V]) newLimit() *itemlimit.Limiter {
	if o.Capacity == 0 && o.Weight != nil {
		return itemlimit.New(math.MaxInt64, 0, 0, nil)
	}
	return itemlimit.New(int64(o.Capacity), 0, 0, nil)
}

// Put merges value into the pending value of key, or makes it that, and sees to it that key is
// taken. It never waits, and asks for no room: see [CoalescerOptions].Capacity. It returns
// [ErrShutDown] once a shutdown has begun, and [ErrRejected] for a key that is not equal
// to itself: then the value was not taken in. If the key is new, and its shard holds
// almost [shard.MaxItems] others, it returns an error that wraps [ErrFull].
//
// A key that waits for its retry goes on waiting, unless [CoalescerOptions].PutEndsBackoff is
// set.
func (c *Coalescer[K, V]) Put(key K, value V) error {
	return c.put(key, value, forceAcquire)
}

// TryPut is [Coalescer.Put] if there is room for value: otherwise, or if others wait for
// room in [Coalescer.PutContext], it returns [ErrFull] and takes nothing in. Unless values
// are weighed, a key that has a pending value needs no room for another. It does not wait.
func (c *Coalescer[K, V]) TryPut(key K, value V) error {
	return c.put(key, value, tryAcquire)
}

// PutContext is [Coalescer.TryPut] that waits for room, for as long as ctx lasts. Who waits first
// is let in first. It returns ctx.Err() once ctx has ended, also before it looks for
// room, and ErrShutDown if the coalescer is shut down while it waits: then the value was
// not taken in.
func (c *Coalescer[K, V]) PutContext(ctx context.Context, key K, value V) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.putWaiting(ctx, key, value)
}

// Take returns the next key that is ready, with its value, which is the caller's from now
// on. No other Take returns key until the caller has ended that by [Coalescer.Done],
// [Coalescer.Retry] or [Coalescer.PutBack], one of which it owes. While nothing is ready,
// Take waits, for as long as ctx lasts, as [Queue.GetContext] does, and it returns the
// same errors; then it has taken nothing.
//
// If a value of key is just being merged by a Put, Take leaves that, and what was put after
// it, for a later Take. After a shutdown Take goes on handing out what is pending.
func (c *Coalescer[K, V]) Take(ctx context.Context) (key K, value V, err error) {
	key, value, _, err = c.take(ctx)
	return key, value, err
}

// TakeBatch is [Coalescer.Take] for as many keys as dst has room for: it waits until there
// is one, takes what is ready then, and returns how many that was. With an error n is 0. If
// dst has no room it returns 0 at once. It costs less than as many calls.
func (c *Coalescer[K, V]) TakeBatch(ctx context.Context, dst []Pending[K, V]) (n int, err error) {
	return c.takeBatch(ctx, len(dst), func(i int, key K, value V, _ shard.Handle) {
		dst[i] = Pending[K, V]{key, value}
	})
}

// Done says that the value of a key that was taken is dealt with, for good or ill: it ends the
// processing of key, as [Queue.Done] does, and its history in the limiter. Any goroutine
// may call it. Done of a key that is not taken is misuse, as with a Queue.
func (c *Coalescer[K, V]) Done(key K) {
	defer c.queue.Done(key) // also if the limiter panics
	c.queue.Forget(key)
}

// DoneBatch is [Coalescer.Done] of each of the keys of what was taken, which need not have
// come from one TakeBatch. It costs less than as many calls.
func (c *Coalescer[K, V]) DoneBatch(taken []Pending[K, V]) { c.doneBatch(taken) }

// PutBack gives a value back that could not be dealt with, in place of [Coalescer.Done]: it
// comes before what was put for key since, and key is ready again at once. It needs no room,
// and counts no failure. Merge is not called here, but by a later call.
//
// Once a shutdown has begun, it returns [ErrShutDown] and does nothing, unless that is a
// Drain that takes retries in: the value remains the caller's, who still owes a Done.
func (c *Coalescer[K, V]) PutBack(key K, value V) error {
	if c.queue.shards.Reject(key) {
		return ErrRejected
	}
	return c.putBack(key, value, 0)
}

// Retry is [Coalescer.PutBack] after a failure: key is ready again after the delay that
// the queue's limiter has for it. What was put for it since it was taken, and what is put
// until then, waits with it, unless [CoalescerOptions].PutEndsBackoff is set. The history
// of failures ends with [Coalescer.Done].
func (c *Coalescer[K, V]) Retry(key K, value V) error {
	if c.queue.shards.Reject(key) {
		return ErrRejected
	}
	if !c.takesBack(c.stripeOf(key)) {
		return ErrShutDown // before the limiter counts a failure
	}
	delay := c.queue.backOff(key) // first, for it may panic
	return c.putBack(key, value, delay)
}

// Queue returns a view of the queue of keys: its Len counts the keys that a Take would
// return now, its Snapshot and All tell of the keys, its NumRequeues of their failures, and its Stats are
// those of the Coalescer. It is an [Observable].
func (c *Coalescer[K, V]) Queue() QueueView[K] { return c.queue.View() }

// Len returns the number of keys with a pending value, also of those that wait for their
// retry, or for the end of their processing. Under concurrent use it was about right a
// moment ago. The cost does not grow with the number of keys.
func (c *Coalescer[K, V]) Len() int { return c.stripes.keys() }

// Values are what a Coalescer has beside its queue of keys.
type Values = shard.Values

// Stats returns a reading, under the same terms as [Queue.Stats]: of the queue of keys, and in its
// Values of what is pending. It is that of the Queue. It also takes the locks of the Coalescer's stripes,
// 64 for each processor.
func (c *Coalescer[K, V]) Stats() Stats { return c.queue.Stats() }

// values returns what the queue does not know.
func (c *Coalescer[K, V]) values() *Values {
	v := c.stripes.count()
	v.Capacity, v.Exceeded, v.Weight = c.capacity, c.limit.Exceeded(), v.Keys
	if c.limit != nil {
		v.Weight = int(min(c.limit.Held(), math.MaxInt)) // what an int can hold
	}
	return &v
}
