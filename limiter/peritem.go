package limiter

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A curve says how long an item waits that has failed so many times before. It
// is pure code of this package, called with a lock held. What is random in it
// is drawn beforehand, 0 <= random <= 1.
type curve func(failures int, random float64) time.Duration

// perItem is a limiter whose delay depends on the number of the item's failures,
// which it counts. Those that do so differ in their curve only.
type perItem[T comparable] struct {
	curve  curve
	random func() float64 // nil if the curve uses no random number
	idle   idleness
	seed   maphash.Seed // of its own, so nobody can choose items that collide
	// stripes is nil until the first failure: a limiter that was never needed
	// costs next to nothing.
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

// allocate makes the stripes, unless somebody else has just done so.
func (p *perItem[T]) allocate() *stripes[T] {
	p.stripes.CompareAndSwap(nil, newStripes[T]())
	return p.stripes.Load()
}

// sweepEvery is how many calls make one sweep, on average.
const sweepEvery = 4

// sweep has some calls remove a few of the histories that have expired. Which
// calls, and where, is left to chance: a single busy item then sweeps for all
// others, and calls share no counter.
func (p *perItem[T]) sweep(all *stripes[T]) {
	chance := rand.Uint64()
	if chance%sweepEvery != 0 {
		return
	}
	if s := all.of(chance); s.inUse.Load() {
		s.sweep(&p.idle, p.idle.now())
	}
}

// findable reports whether a table can find the item again: whether it is equal
// to itself, as all values but NaN are, and those that hold one. An item that is
// not has no history; each of its failures is its first.
func findable[T comparable](item T) bool { return item == item }
