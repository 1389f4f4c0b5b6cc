// Package floor has a queue that takes the locks that shardq takes, and touches the
// cache lines that it touches, and does nothing else: it neither deduplicates nor
// excludes, sleeps by spinning, and keeps delays for a quarter of a second only.
// What it takes is what a queue of this shape cannot go below.
//
// For each item it hashes in Add and in Done, as shardq does, or in Add alone if
// consumers use claims. It takes the lock of a shard three times, or once for what
// of a batch falls to the shard. Under the lock it touches the shard's line, a slot
// that the hash names, and the item's place in the line of those that are ready.
package floor

import (
	"context"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shardq/shardq/bench/workload"
)

// Engine returns the engine of such queues for so many items.
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
		Name:   "floor, claims",
		Shards: shards,
		New:    func() workload.Queue[T] { return ByClaims[T]{New[T](shards, items)} },
	}
}

const (
	// tick is that of delays, and ticks the number that a shard keeps apart.
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
	slots   uint64 // of a shard, less 1
	start   time.Time
	stopped atomic.Bool
	// armed is when timer is due, in nanoseconds after start; mu guards both.
	armed atomic.Int64
	mu    sync.Mutex
	timer *time.Timer
	// expired is the next tick that the timer has to look at.
	expired int64
}

type shard[T comparable] struct {
	mu    sync.Mutex
	ready []T // a ring
	head  int
	count int
	// slots has what a look-up and a deadline touch, by hash.
	slots   []slot
	delayed *[ticks][]T
	_       [64]byte
}

type slot struct{ stamp int64 }

// New returns a queue for so many items.
func New[T comparable](shards, items int) *Queue[T] {
	perShard := 8
	for perShard < items/shards*5/4 {
		perShard *= 2
	}
	q := &Queue[T]{seed: maphash.MakeSeed(), shards: make([]shard[T], shards), slots: uint64(perShard - 1), start: time.Now()}
	for i := range q.shards {
		q.shards[i].slots = make([]slot, perShard)
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

func (q *Queue[T]) touchLocked(sh *shard[T], hash uint64) { sh.slots[hash&q.slots].stamp++ }

// Add makes an item ready.
func (q *Queue[T]) Add(item T) {
	sh, hash := q.at(item)
	sh.mu.Lock()
	q.touchLocked(sh, hash)
	sh.pushLocked(item)
	sh.mu.Unlock()
}

// Done ends the processing of an item.
func (q *Queue[T]) Done(item T) {
	sh, hash := q.at(item)
	sh.mu.Lock()
	q.touchLocked(sh, hash)
	sh.mu.Unlock()
}

// Get returns a ready item.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	var one [1]T
	_, shutdown = q.get(one[:])
	return one[0], shutdown
}

// get takes what is ready, and at least one item.
func (q *Queue[T]) get(dst []T) (n int, shutdown bool) {
	for turn := here(); ; {
		for range q.shards {
			sh := &q.shards[turn%uint64(len(q.shards))]
			if sh.mu.TryLock() {
				n += sh.popLocked(dst[n:])
				sh.mu.Unlock()
			}
			if n == len(dst) {
				return n, false
			}
			turn++
		}
		if n > 0 {
			return n, false
		}
		if q.stopped.Load() {
			return 0, true
		}
		runtime.Gosched()
	}
}

// gets counts the Gets of some goroutines.
var gets [16]struct {
	n atomic.Uint64
	_ [120]byte
}

// here returns where a consumer begins to look: the goroutines of one place, by the
// address of their stacks, go on together after some items.
func here() uint64 {
	var local byte
	place := uint64(uintptr(unsafe.Pointer(&local))) >> 11 * 0x9e3779b97f4a7c15 >> 60
	return place*7 + gets[place].n.Add(1)/quantum
}

func (sh *shard[T]) pushLocked(item T) {
	if sh.count == len(sh.ready) {
		grown := make([]T, max(8, 2*len(sh.ready)))
		n := copy(grown, sh.ready[sh.head:])
		copy(grown[n:], sh.ready[:sh.head])
		sh.ready, sh.head = grown, 0
	}
	sh.ready[(sh.head+sh.count)&(len(sh.ready)-1)] = item
	sh.count++
}

func (sh *shard[T]) popLocked(dst []T) (n int) {
	for n = 0; n < min(len(dst), quantum) && sh.count > 0; n++ {
		dst[n] = sh.ready[sh.head]
		sh.head = (sh.head + 1) & (len(sh.ready) - 1)
		sh.count--
	}
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

// ShutDown releases who waits for an item.
func (q *Queue[T]) ShutDown() {
	q.stopped.Store(true)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}

// each calls do once for each shard that some of the items fall to, with its lock held,
// and the places of those items. There are at most 64.
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
			q.touchLocked(sh, hash)
			sh.pushLocked(some[i])
		})
	})
}

// GetBatch takes what is ready, and at least one item.
func (q *Queue[T]) GetBatch(_ context.Context, dst []T) (n int, err error) {
	if n, shutdown := q.get(dst); !shutdown {
		return n, nil
	}
	return 0, context.Canceled
}

// DoneBatch ends the processing of items.
func (q *Queue[T]) DoneBatch(items []T) {
	q.byBatches(items, func(some []T) { q.each(some, func(sh *shard[T], _ int, hash uint64) { q.touchLocked(sh, hash) }) })
}

// ByClaims is a queue whose consumers use claims: to end one, no item is hashed.
type ByClaims[T comparable] struct{ *Queue[T] }

// Turn implements [workload.TurnQueue].
func (q ByClaims[T]) Turn() (item T, shutdown bool) {
	if item, shutdown = q.Get(); !shutdown {
		q.end(1)
	}
	return item, shutdown
}

// TurnBatch implements [workload.TurnQueue].
func (q ByClaims[T]) TurnBatch(ctx context.Context, dst []T) (n int, err error) {
	if n, err = q.GetBatch(ctx, dst); err == nil {
		q.end((n + quantum - 1) / quantum)
	}
	return n, err
}

// end takes the locks of some shards, as the end of claims does.
func (q ByClaims[T]) end(locks int) {
	for turn := here(); locks > 0; locks-- {
		sh := &q.shards[turn%uint64(len(q.shards))]
		sh.mu.Lock()
		q.touchLocked(sh, turn)
		sh.mu.Unlock()
		turn++
	}
}
