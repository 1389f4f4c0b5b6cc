// Package floor has a queue that takes the locks that shardq takes, and
// accesses the cache lines that shardq accesses. It does nothing else. It
// neither deduplicates nor excludes, waits by spinning, and keeps delays for a
// quarter of a second only. A queue of this shape cannot take less time.
//
// For each item it hashes in Add and in Done, as shardq does, or only in Add if
// consumers use claims. It takes the lock of a shard three times, or once for
// the part of a batch that belongs to the shard. Under the lock it accesses the
// shard's line, a slot that the hash selects, and the item's place in the ring
// of ready items.
package floor

import (
	"context"
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shardq/shardq/bench/workload"
)

// Engine returns the engine of such queues for a number of items.
func Engine[T comparable](shards, items int) workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "floor",
		Shards: shards,
		New:    func() workload.Queue[T] { return New[T](shards, items) },
	}
}

// Claims returns the engine of such queues whose consumers use claims.
func Claims[T comparable](shards, items int) workload.Engine[T] {
	return workload.Engine[T]{
		Name:   "floor-claims",
		Shards: shards,
		New:    func() workload.Queue[T] { return ByClaims[T]{New[T](shards, items)} },
	}
}

const (
	// tick is the resolution of delays. ticks is the number of ticks that a
	// shard keeps apart.
	tick  = time.Millisecond
	ticks = 256
	// quantum is the number of items that a consumer takes from a shard.
	quantum = 8
	batch   = 64
)

// A Queue is the floor of a queue.
type Queue[T comparable] struct {
	seed    maphash.Seed
	shards  []shard[T]
	ready   []row
	lanes   [4]row // the next shards of consumers
	slots   uint64 // of a shard, less 1
	start   time.Time
	stopped atomic.Bool
	// armed is when timer is due, in nanoseconds after start. mu guards both.
	armed atomic.Int64
	mu    sync.Mutex
	timer *time.Timer
	// expired is the next tick that the timer handles.
	expired int64
}

// rowBits is the number of shards in a row, which says which of them have ready
// items.
const rowBits = 16

// A row is a word on its own cache line.
type row struct {
	atomic.Uint64
	_ [56]byte
}

type shard[T comparable] struct {
	mu     sync.Mutex
	number int
	served int
	ready  []T // a ring
	head   int
	count  int
	// slots has what a look-up and a deadline access, by hash.
	slots   []slot
	delayed *[ticks][]T
	_       [64]byte
}

type slot struct{ stamp int64 }

// New returns a queue for a number of items.
func New[T comparable](shards, items int) *Queue[T] {
	perShard := 8
	for perShard < items/shards*5/4 {
		perShard *= 2
	}
	q := &Queue[T]{seed: maphash.MakeSeed(), shards: make([]shard[T], shards), slots: uint64(perShard - 1), start: time.Now()}
	q.ready = make([]row, (shards+rowBits-1)/rowBits)
	for i := range q.shards {
		q.shards[i].number, q.shards[i].slots = i, make([]slot, perShard)
	}
	q.armed.Store(1 << 62)
	return q
}

func (q *Queue[T]) at(item T) (sh *shard[T], hash uint64) {
	hash = maphash.Comparable(q.seed, item)
	return q.shardOf(hash), hash
}

func (q *Queue[T]) shardOf(hash uint64) *shard[T] { return &q.shards[q.number(hash)] }

func (q *Queue[T]) number(hash uint64) uint64 { return hash >> 32 * uint64(len(q.shards)) >> 32 }

func (q *Queue[T]) accessLocked(sh *shard[T], hash uint64) { sh.slots[hash&q.slots].stamp++ }

// Add makes an item ready.
func (q *Queue[T]) Add(item T) {
	sh, hash := q.at(item)
	sh.mu.Lock()
	q.accessLocked(sh, hash)
	q.pushLocked(sh, item)
	sh.mu.Unlock()
}

// Done ends the processing of an item.
func (q *Queue[T]) Done(item T) {
	sh, hash := q.at(item)
	sh.mu.Lock()
	q.accessLocked(sh, hash)
	sh.mu.Unlock()
}

// Get returns a ready item.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	var one [1]T
	_, shutdown = q.get(one[:], nil)
	return one[0], shutdown
}

// visits are the shards from which a consumer took items.
type visits []int

// get takes the ready items, at least one, but not more than a batch.
func (q *Queue[T]) get(dst []T, v *visits) (n int, shutdown bool) {
	dst = dst[:min(len(dst), batch)]
	turn := q.lane()
	for n == 0 {
		if n = q.takeFrom(turn, dst, v); n == 0 {
			if q.stopped.Load() {
				return 0, true
			}
			runtime.Gosched()
		}
	}
	return n, false
}

// takeFrom visits the shards that have ready items, once.
func (q *Queue[T]) takeFrom(turn *atomic.Uint64, dst []T, v *visits) (n int) {
	start := int(turn.Load())
	for i := range q.ready {
		row := (start/rowBits + i) % len(q.ready)
		for word := q.ready[row].Load(); word != 0; {
			// The first at or after the turn, or else the first.
			bit := bits.TrailingZeros64(word)
			if later := word &^ (1<<(start%rowBits) - 1); later != 0 {
				bit = bits.TrailingZeros64(later)
			}
			word &^= 1 << bit
			sh := &q.shards[row*rowBits+bit]
			if !sh.mu.TryLock() {
				continue
			}
			got := q.popLocked(sh, dst[n:])
			over := sh.served%quantum == 0
			sh.mu.Unlock()
			if over {
				turn.Store(uint64((sh.number + 1) % len(q.shards)))
			}
			if n += got; got > 0 && v != nil {
				*v = append(*v, sh.number)
			}
			if n == len(dst) {
				return n
			}
		}
	}
	return n
}

// lane returns the next shard of some goroutines, which are selected by the
// addresses of their stacks.
func (q *Queue[T]) lane() *atomic.Uint64 {
	var local byte
	return &q.lanes[uint64(uintptr(unsafe.Pointer(&local)))>>11*0x9e3779b97f4a7c15>>62].Uint64
}

func (q *Queue[T]) pushLocked(sh *shard[T], item T) {
	if sh.count == 0 {
		q.ready[sh.number/rowBits].Or(1 << (sh.number % rowBits))
	}
	if sh.count == len(sh.ready) {
		grown := make([]T, max(8, 2*len(sh.ready)))
		n := copy(grown, sh.ready[sh.head:])
		copy(grown[n:], sh.ready[:sh.head])
		sh.ready, sh.head = grown, 0
	}
	sh.ready[(sh.head+sh.count)&(len(sh.ready)-1)] = item
	sh.count++
}

func (q *Queue[T]) popLocked(sh *shard[T], dst []T) (n int) {
	most := min(len(dst), quantum-sh.served%quantum)
	for n = 0; n < most && sh.count > 0; n++ {
		dst[n] = sh.ready[sh.head]
		sh.head = (sh.head + 1) & (len(sh.ready) - 1)
		sh.count--
	}
	if n > 0 && sh.count == 0 {
		q.ready[sh.number/rowBits].And(^uint64(1 << (sh.number % rowBits)))
	}
	sh.served += n
	return n
}

// Len returns the number of ready items.
func (q *Queue[T]) Len() (n int) {
	for i := range q.shards {
		sh := &q.shards[i]
		sh.mu.Lock()
		n += sh.count
		sh.mu.Unlock()
	}
	return n
}

// ShutDown releases the consumers that wait for an item.
func (q *Queue[T]) ShutDown() {
	q.stopped.Store(true)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}

// each calls do for each item, with the lock of its shard held. It takes the
// lock of each shard once. There are at most 64 items.
func (q *Queue[T]) each(items []T, do func(sh *shard[T], i int, hash uint64)) {
	var hashes [batch]uint64
	left := uint64(0)
	for i, item := range items {
		hashes[i] = maphash.Comparable(q.seed, item)
		left |= 1 << i
	}
	for i := range items {
		if left>>i&1 == 0 {
			continue
		}
		sh := q.shardOf(hashes[i])
		sh.mu.Lock()
		for j := i; j < len(items); j++ {
			if left>>j&1 == 1 && q.number(hashes[j]) == q.number(hashes[i]) {
				left &^= 1 << j
				do(sh, j, hashes[j])
			}
		}
		sh.mu.Unlock()
	}
}

func (q *Queue[T]) byBatches(items []T, do func(some []T)) {
	for len(items) > 0 {
		n := min(len(items), batch)
		do(items[:n])
		items = items[n:]
	}
}

// AddBatch makes items ready.
func (q *Queue[T]) AddBatch(items []T) {
	q.byBatches(items, func(some []T) {
		q.each(some, func(sh *shard[T], i int, hash uint64) {
			q.accessLocked(sh, hash)
			q.pushLocked(sh, some[i])
		})
	})
}

// GetBatch takes the ready items, at least one.
func (q *Queue[T]) GetBatch(_ context.Context, dst []T) (n int, err error) {
	return q.getBatch(dst, nil)
}

func (q *Queue[T]) getBatch(dst []T, v *visits) (n int, err error) {
	if n, shutdown := q.get(dst, v); !shutdown {
		return n, nil
	}
	return 0, context.Canceled
}

// DoneBatch ends the processing of items.
func (q *Queue[T]) DoneBatch(items []T) {
	q.byBatches(items, func(some []T) { q.each(some, func(sh *shard[T], _ int, hash uint64) { q.accessLocked(sh, hash) }) })
}

// ByClaims is a queue whose consumers use claims. To end a claim, no item is
// hashed.
type ByClaims[T comparable] struct{ *Queue[T] }

// Turn implements [workload.TurnQueue].
func (q ByClaims[T]) Turn() (item T, shutdown bool) {
	var one [1]T
	var from [1]int
	v := visits(from[:0])
	if _, shutdown = q.get(one[:], &v); !shutdown {
		q.end(v)
	}
	return one[0], shutdown
}

// Batches implements [workload.TurnQueue].
func (q ByClaims[T]) Batches() func(context.Context, []T) (int, error) { return q.turnBatch }

func (q ByClaims[T]) turnBatch(_ context.Context, dst []T) (n int, err error) {
	var from [batch]int
	v := visits(from[:0])
	if n, err = q.getBatch(dst, &v); err == nil {
		q.end(v)
	}
	return n, err
}

// end takes the locks of the shards of the claims.
func (q ByClaims[T]) end(v visits) {
	for _, number := range v {
		sh := &q.shards[number]
		sh.mu.Lock()
		q.accessLocked(sh, uint64(sh.head))
		sh.mu.Unlock()
	}
}
