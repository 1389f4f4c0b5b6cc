package limiter

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A curve returns the delay of an item that has failed that many times before.
// It is code of this package, and is called with a lock held. Its random number
// is drawn beforehand, 0 <= random <= 1.
type curve func(failures int, random float64) time.Duration

// perItem is a limiter whose delay depends on the number of the item's
// failures. The per-item limiters differ only in their curve.
type perItem[T comparable] struct {
	curve  curve
	random func() float64 // nil if the curve uses no random numbers
	idle   idleness
	seed   maphash.Seed // per limiter, so that callers cannot choose items that collide
	// stripes is nil until the first failure, so that an unused limiter is
	// small.
	stripes atomic.Pointer[stripes[T]]
}

// newPerItem returns a limiter that uses no random numbers.
func newPerItem[T comparable](c curve, o Options) *perItem[T] {
	return &perItem[T]{curve: c, idle: newIdleness(o), seed: maphash.MakeSeed()}
}

func (p *perItem[T]) When(item T) time.Duration {
	var random float64
	if p.random != nil {
		random = unit(p.random())
	}
	if !findable(item) {
		return p.curve(0, random)
	}
	hash := maphash.Comparable(p.seed, item) // an unhashable item panics here
	now := p.idle.now()
	all := p.stripes.Load()
	if all == nil {
		all = p.allocate()
	}
	delay := all.of(hash).fail(p, hash, item, now, random)
	if p.idle.expires() {
		p.sweep(all)
	}
	return delay
}

func (p *perItem[T]) Forget(item T) {
	if !findable(item) {
		return
	}
	all := p.stripes.Load()
	if all == nil {
		return
	}
	hash := maphash.Comparable(p.seed, item)
	all.of(hash).forget(hash, item)
	if p.idle.expires() {
		p.sweep(all)
	}
}

func (p *perItem[T]) NumRequeues(item T) int {
	if !findable(item) {
		return 0
	}
	all := p.stripes.Load()
	if all == nil {
		return 0
	}
	hash := maphash.Comparable(p.seed, item)
	s := all.of(hash)
	if !s.inUse.Load() {
		return 0 // before the clock is read
	}
	return s.failures(p, hash, item, p.idle.now())
}

// allocate makes the stripes, unless another goroutine has just done so.
func (p *perItem[T]) allocate() *stripes[T] {
	p.stripes.CompareAndSwap(nil, newStripes[T]())
	return p.stripes.Load()
}

// sweepEvery is the mean number of calls per sweep.
const sweepEvery = 4

// sweep removes a few expired histories in some of its calls. The calls and the
// stripes are chosen at random, so that a single busy item sweeps for all
// others and calls share no counter.
func (p *perItem[T]) sweep(all *stripes[T]) {
	chance := rand.Uint64()
	if chance%sweepEvery != 0 {
		return
	}
	if s := all.of(chance); s.inUse.Load() {
		s.sweep(&p.idle, p.idle.now())
	}
}

// findable reports whether a table can find the item again, that is, whether
// the item is equal to itself. Only NaNs, and values that contain one, are not.
// Such an item has no history, and each of its failures is its first.
func findable[T comparable](item T) bool { return item == item }
