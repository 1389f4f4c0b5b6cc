package coalesce

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/itemlimit"
)

type acquisition uint8

const (
	forceAcquire acquisition = iota // beyond the capacity if necessary
	tryAcquire                      // if the capacity allows
	acquired                        // done before
)

func (p *putter[K, V]) start(options PutOptions, how acquisition) error {
	if !options.Policy.Valid() {
		panic(fmt.Sprintf("coalesce: PutOptions.Policy is %d: want shardq.KeepEarliest, KeepLatest, KeepNew or KeepOld",
			options.Policy))
	}
	if options != (PutOptions{}) {
		with := options // only these are allocated
		p.with = &with
	}
	return p.begin(how)
}

// await waits for room if necessary.
func (p *putter[K, V]) await(ctx context.Context, options PutOptions) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := p.start(options, tryAcquire)
	if err != shardq.ErrFull {
		return err
	}
	if p.c.shards.Core.InHandler(ctx) {
		return p.put(forceAcquire)
	}
	switch err = p.c.limit.Acquire(ctx, p.weight); err {
	case nil:
		return p.put(acquired)
	case itemlimit.ErrClosed:
		return shardq.ErrShutDown
	default:
		return err
	}
}

// begin calls user code, except Merge, before anything is changed.
func (p *putter[K, V]) begin(how acquisition) error {
	if p.c.shards.Reject(p.key) {
		return shardq.ErrRejected
	}
	p.stripe, p.weight = p.c.stripeOf(p.key), p.c.weightOf(p.value)
	if p.c.routed {
		p.c.shards.SetAddress(&p.address, p.key)
	}
	return p.put(how)
}

type putter[K comparable, V any] struct {
	teller[K, V]
	value  V
	weight int64
	with   *PutOptions   // nil for zero ones
	from   *Source[K, V] // or nil
	// low: the other values have requested priorities below 0 alone. Then a Put
	// without a priority asks the queue for 0.
	low bool
}

func (p *putter[K, V]) priority() int {
	if p.with == nil {
		return 0
	}
	return p.with.Priority
}

func (c *Coalescer[K, V]) stripeOf(key K) *stripe[K, V] {
	return c.stripes.of(maphash.Comparable(c.seed, key))
}

func (c *Coalescer[K, V]) weightOf(value V) int64 {
	if c.options.Weight == nil {
		return 1
	}
	return int64(min(max(c.options.Weight(value), 1), MaxValueWeight))
}

func (p *putter[K, V]) put(how acquisition) error {
	s := p.stripe
	full := p.c.shards.Crowded(p.key) // afterwards, the value would be in without its key
	s.mu.Lock()
	l := s.lines[p.key]
	known := !l.isEmpty()
	if known {
		full = nil // the queue has the key, or a call is adding it
	}
	needed, err := p.acquireLocked(known, how, full)
	if err != nil {
		s.mu.Unlock()
		if how == acquired {
			p.c.limit.FinishAcquire()
		}
		return err
	}
	s.admitted++
	if !known {
		l = s.lineLocked(p.key, l)
	}
	switch {
	case how == acquired:
		p.joinAcquiredLocked(l, needed)
	case known:
		p.joinLocked(l, needed)
	default:
		p.appendLocked(l, needed)
	}
	s.put++
	if p.from != nil {
		p.from.ledger.countLocked(p.from.offset)
	}
	p.finishAndUnlock(l)
	return nil
}

func (p *putter[K, V]) appendLocked(l *line[V], needed int64) (own *segment[V]) {
	p.low = l.priority() < 0
	own = l.append(p.value, needed, p.priority())
	if p.from != nil {
		own.mark = p.from.ledger.insertLocked(p.from.offset, p.from.now)
	}
	return own
}

// acquireLocked acquires the weight that the value adds, and returns it. An
// error in full refuses the value.
func (p *putter[K, V]) acquireLocked(known bool, how acquisition, full error) (needed int64, err error) {
	c := p.c
	if needed = p.weight; c.options.Weight == nil && known {
		needed = 0 // the key has acquired its weight
	}
	switch {
	case p.stripe.closed:
		err = shardq.ErrShutDown
	case p.from != nil && p.from.ledger.closing.Load():
		err = ErrSourceClosed
	case full != nil:
		err = full
	case how == tryAcquire && needed > 0 && !c.limit.TryAcquire(needed):
		return 0, shardq.ErrFull
	case how == forceAcquire && needed > 0:
		c.limit.ForceAcquire(needed)
	}
	if how == acquired {
		if err != nil {
			c.limit.Release(p.weight)
		} else {
			c.limit.Release(p.weight - needed)
		}
	}
	return needed, err
}

// joinLocked merges the value into the last segment, or appends it if that is
// not mergeable. Before that it merges one pair of neighbors: before, so that
// the value is not in the line if Merge panics there, and one, so that no Put
// has to work for all others in a storm. The line is still in the stripe after a
// merge, because the segment that was merging has kept its place.
func (p *putter[K, V]) joinLocked(l *line[V], needed int64) {
	if left := l.mergeablePair(); left != nil {
		p.c.mergeNextLocked(p.stripe, l, left, func() { p.failAndUnlock(l, needed) })
	}
	last := l.last
	if !last.isMergeable() {
		p.appendLocked(l, needed)
		return
	}
	p.c.mergeLocked(p.stripe, last, p.value, needed, func() { p.failAndUnlock(l, needed) })
	p.low, last.priority = l.priority() < 0, max(last.priority, p.priority())
	l.prioritized = l.prioritized || p.priority() != 0
	if p.from == nil {
		last.mark.mix()
	} else if own := last.mark.part(p.from.ledger); own != nil {
		own.highest = p.from.offset
	} else {
		last.mark.add(p.from.ledger.insertLocked(p.from.offset, p.from.now))
	}
}

// joinAcquiredLocked is joinLocked of a value that has waited for the capacity.
// Merge may take long, or put a value itself, so the next waiter is granted
// before Merge is called. To keep the order of the waiters, the value takes its
// place first, and no call merges or takes it there.
func (p *putter[K, V]) joinAcquiredLocked(l *line[V], needed int64) {
	own := p.appendLocked(l, needed)
	own.merging = true
	p.stripe.mu.Unlock()
	p.c.limit.FinishAcquire()
	p.stripe.mu.Lock()
	removeAndUnlock := func() { p.removeAndUnlock(l, own) }
	if left := l.mergeablePair(); left != nil {
		p.c.mergeNextLocked(p.stripe, l, left, removeAndUnlock)
	}
	own.merging = false
	if previous := l.previous(own); previous != nil && previous.isMergeable() {
		p.c.mergeNextLocked(p.stripe, l, previous, removeAndUnlock)
	}
}

// removeAndUnlock is failAndUnlock of a Put whose value has its place already. It
// may be the first segment by now, and have the room of the key. It is not the
// only segment, because Merge has panicked with another one.
func (p *putter[K, V]) removeAndUnlock(l *line[V], own *segment[V]) {
	if p.from != nil {
		p.from.ledger.remove(p.from.offset)
	}
	weight := l.remove(own)
	if p.c.options.Weight == nil {
		l.first.weight += weight // the key stays
		weight = 0
	}
	p.failAndUnlock(l, weight)
}

// failAndUnlock adds the key if a Take has come for the line meanwhile, or if another
// Put has left it to this one to raise the key's priority.
func (p *putter[K, V]) failAndUnlock(l *line[V], weight int64) {
	p.c.limit.Release(weight)
	switch {
	case l.key == absent:
		p.addAndUnlock(l)
	case p.low:
		p.readdAndUnlock()
	default:
		p.c.leaveAndUnlock(p.stripe)
	}
}

// finishAndUnlock adds the key, unless a Take will come for the line without
// that. If a hook or the clock panics there, the value and the key are in.
func (p *putter[K, V]) finishAndUnlock(l *line[V]) {
	switch {
	case p.with != nil || p.c.options.Linger > 0 || p.low && l.key != absent:
		p.fileAndUnlock(l)
	case l.key == queued, l.key == delayed && !p.c.options.PutEndsBackoff:
		p.c.leaveAndUnlock(p.stripe)
	default:
		p.addAndUnlock(l)
	}
}

func (p *putter[K, V]) addAndUnlock(l *line[V]) {
	keepDelay := !p.c.options.PutEndsBackoff && l.key != waiting // by now the key may be in a backoff
	l.key = queued                                               // and was not lingering: see finishAndUnlock
	p.tellAndUnlock(l, &deferred[K, V]{priority: l.priority(), keepDelay: keepDelay})
}

func (c *Coalescer[K, V]) leaveAndUnlock(s *stripe[K, V]) {
	s.admitted--
	last := s.closed && s.admitted == 0
	s.mu.Unlock()
	if last {
		c.stripeEnded()
	}
	c.limit.Notify()
}
