package candidates

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// striped is a queue with the design of package shard, in which the parts that
// were chosen can be replaced: how a shard keeps its items (store), which shard
// a Get selects (policy), and how consumers are parked (parking).
type striped[T comparable] struct {
	seed    maphash.Seed
	stripes []stripe[T]
	policy  policy
	parking parking
	// heads and workReady are headOf and hasWork as values, made once: each
	// time would be an allocation.
	heads     func(stripe int) uint64
	workReady func() bool
	// clock stamps items in the order in which they become ready, for policies
	// that use stamps.
	clock  atomic.Uint64
	closed atomic.Bool
	_      cacheLine
	// ready has a bit for each stripe that has ready items.
	ready atomic.Uint64
	_     cacheLine
}

type cacheLine [64]byte

type stripe[T comparable] struct {
	mu     sync.Mutex
	store  store[T]
	number int
	served int
	// head is the stamp of the next item. It is written under mu.
	head atomic.Uint64
	_    [128 - 48]byte
}

// design names the parts of a striped queue.
type design[T comparable] struct {
	stripes int // at most 64
	store   func() store[T]
	policy  func(stripes int) policy
	parking func() parking
}

func newStriped[T comparable](d design[T]) *striped[T] {
	q := &striped[T]{
		seed:    maphash.MakeSeed(),
		stripes: make([]stripe[T], d.stripes),
		policy:  d.policy(d.stripes),
		parking: d.parking(),
	}
	q.heads, q.workReady = q.headOf, q.hasWork
	for i := range q.stripes {
		q.stripes[i].number, q.stripes[i].store = i, d.store()
	}
	return q
}

func (q *striped[T]) stripeOf(item T) *stripe[T] {
	number, _ := bits.Mul64(maphash.Comparable(q.seed, item), uint64(len(q.stripes)))
	return &q.stripes[number]
}

func (q *striped[T]) Add(item T) {
	if q.closed.Load() {
		return
	}
	s := q.stripeOf(item)
	s.mu.Lock()
	enqueued := s.store.add(item, q.stamp())
	q.settleAndUnlock(s, enqueued)
}

func (q *striped[T]) Done(item T) {
	s := q.stripeOf(item)
	s.mu.Lock()
	enqueued := s.store.done(item, q.stamp())
	q.settleAndUnlock(s, enqueued)
}

// settleAndUnlock unlocks a stripe, and wakes a consumer if an item was put
// into it.
func (q *striped[T]) settleAndUnlock(s *stripe[T], enqueued bool) {
	if enqueued && s.store.length() == 1 {
		q.ready.Or(1 << s.number)
		s.publishHead(q.policy)
	}
	s.mu.Unlock()
	if enqueued {
		q.parking.wake()
	}
}

func (q *striped[T]) stamp() uint64 {
	if !q.policy.stamped() {
		return 0
	}
	return q.clock.Add(1)
}

func (s *stripe[T]) publishHead(p policy) {
	if p.stamped() {
		s.head.Store(s.store.head())
	}
}

func (q *striped[T]) Get() (item T, shutdown bool) {
	searcher := false
	for {
		closed := q.closed.Load()
		item, ok := q.take()
		if searcher {
			q.parking.found(q.workReady)
		}
		if ok || closed {
			return item, !ok
		}
		searcher = q.parking.sleep(q.workReady)
	}
}

// hasWork reports whether a consumer has a reason not to park.
func (q *striped[T]) hasWork() bool { return q.ready.Load() != 0 || q.closed.Load() }

func (q *striped[T]) take() (item T, ok bool) {
	for {
		s := q.lockReady()
		if s == nil {
			return item, false
		}
		if item, ok = q.takeLocked(s); ok {
			return item, true
		}
	}
}

// lockReady returns, locked, the first ready stripe from the policy's start
// that no other goroutine has locked, or the first of all. It returns nil if
// none is ready.
func (q *striped[T]) lockReady() (first *stripe[T]) {
	ready := q.ready.Load()
	if ready == 0 {
		return nil
	}
	start := q.policy.start(ready, q.heads)
	for ready = bits.RotateLeft64(ready, -start); ready != 0; ready &= ready - 1 {
		s := &q.stripes[(start+bits.TrailingZeros64(ready))%64]
		if s.mu.TryLock() {
			return s
		}
		if first == nil {
			first = s
		}
	}
	first.mu.Lock()
	return first
}

func (q *striped[T]) headOf(stripe int) uint64 { return q.stripes[stripe].head.Load() }

func (q *striped[T]) takeLocked(s *stripe[T]) (item T, ok bool) {
	defer s.mu.Unlock()
	if s.store.length() == 0 {
		return item, false
	}
	item = s.store.take()
	s.served++
	q.policy.served(s.number, s.served)
	if s.store.length() == 0 {
		q.ready.And(^(uint64(1) << s.number))
	} else {
		s.publishHead(q.policy)
	}
	return item, true
}

func (q *striped[T]) Len() (n int) {
	for i := range q.stripes {
		s := &q.stripes[i]
		s.mu.Lock()
		n += s.store.length()
		s.mu.Unlock()
	}
	return n
}

// ShutDown makes Get return true once nothing is ready. A concurrent Add may be
// lost: this queue is only for measuring.
func (q *striped[T]) ShutDown() {
	q.closed.Store(true)
	q.parking.wakeAll()
}

// place is a number that distinguishes goroutines by the addresses of their
// stacks.
func place() uint64 {
	var here byte
	return uint64(uintptr(unsafe.Pointer(&here))) >> 11 * 0x9e3779b97f4a7c15
}
