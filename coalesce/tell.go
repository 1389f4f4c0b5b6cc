package coalesce

import (
	"math"
	"slices"

	"github.com/shardq/shardq/shard"
)

// A teller tells the queue about a key, after it has released the lock of the stripe. By
// the time the queue hears it, a Take or a Cancel may have come for the values. Then the
// queue would have a key that no value needs, and its delay would count for the next value.
// So a line stays in its stripe while it has tellers, also without values. If it has lost
// them meanwhile, it is stale: the last teller cancels the key. Until then, later calls
// leave to that one what they have to tell, and no Take takes their values.
type teller[K comparable, V any] struct {
	c         *Coalescer[K, V]
	stripe    *stripe[K, V]
	key       K
	address   shard.Address
	uncounted bool // the stripe was closed before, and does not wait for the call
}

// A trace says whether tellers have found a key in processing, by the
// [shard.Handle.Mark] of the processing.
//
// A Take has the key a moment before it has the lock of the stripe. If a teller
// is faster, the queue will hand out the key again, for a value that the Take
// has taken. So a Take that finds the mark of its own processing cancels that.
type trace uint8

const (
	unseen trace = 0
	unsure trace = 254 // in several processings
	stale  trace = 255 // see teller
)

func (t trace) is(h shard.Handle) bool { return t == trace(h.Mark()) || t == unsure }

func (t *trace) add(mark uint8) {
	switch {
	case *t == stale:
	case *t == unseen:
		*t = trace(mark)
	case *t != trace(mark):
		*t = unsure
	}
}

// tellAndUnlock adds the key, or files a delay. The stripe has admitted the call,
// which leaves.
func (t *teller[K, V]) tellAndUnlock(l *line[V], d *deferred[K, V]) {
	if !l.mayTell() {
		t.deferAndUnlock(*d)
		return
	}
	l.tells++
	t.stripe.mu.Unlock()
	defer t.told(l)
	switch {
	case d.back != nil:
		d.back.finish()
	case d.files:
		t.c.shards.FileTo(t.key, t.route(), d.delay)
	default:
		t.c.shards.AddTo(t.key, t.route(), d.priority, d.keepDelay)
	}
}

func (l *line[V]) mayTell() bool { return l.trace != stale && l.tells < math.MaxUint8 }

type deferred[K comparable, V any] struct {
	files, keepDelay bool
	priority         int                // of an add
	delay            shard.Delay        // that it files
	back             *valueReturn[K, V] // whose processing has not ended, or nil
}

func (t *teller[K, V]) deferAndUnlock(d deferred[K, V]) {
	t.stripe.deferLocked(t.key, d)
	t.leaveAndUnlock()
}

func (t *teller[K, V]) told(l *line[V]) {
	t.stripe.mu.Lock()
	if mark := t.address.Mark(); mark != 0 {
		l.trace.add(mark)
	}
	switch {
	case l.trace != stale && t.stripe.extras == nil: // nearly always
		l.tells--
		t.leaveAndUnlock()
	case l.trace != stale || l.tells > 1:
		t.nextAndUnlock(l)
	default:
		t.stripe.mu.Unlock()
		t.clean(l)
	}
}

func (t *teller[K, V]) clean(l *line[V]) {
	defer t.cleaned(l) // also if a hook panics
	t.c.shards.Withdraw(t.key, t.route())
}

func (t *teller[K, V]) cleaned(l *line[V]) {
	t.stripe.mu.Lock()
	l.trace = unseen
	t.nextAndUnlock(l)
}

func (t *teller[K, V]) nextAndUnlock(l *line[V]) {
	s := t.stripe
	l.tells--
	if l.trace != stale {
		if d, is := s.nextDeferredLocked(t.key); is {
			t.tellAndUnlock(l, &d)
			return
		}
		if l.tells == 0 && l.first == nil {
			s.hollow--
			s.removeLocked(t.key, l)
		}
	}
	t.leaveAndUnlock()
}

func (t *teller[K, V]) leaveAndUnlock() {
	if t.uncounted {
		t.stripe.mu.Unlock()
		t.c.limit.Notify() // the watermarks
	} else {
		t.c.leaveAndUnlock(t.stripe)
	}
}

// route computes the key's address late, because most values are merged.
func (t *teller[K, V]) route() *shard.Address {
	if !t.c.routed {
		t.c.shards.SetAddress(&t.address, t.key)
	}
	return &t.address
}

// readdAndUnlock makes the key ready if it has values and no delay is running:
// a Take may have come for them.
func (t *teller[K, V]) readdAndUnlock() {
	l := t.stripe.lines[t.key]
	if l.isEmpty() || l.key == absent && l.first.merging {
		t.leaveAndUnlock()
		return
	}
	if l.key == absent {
		t.stripe.setStateLocked(l, queued)
	}
	t.tellAndUnlock(l, &deferred[K, V]{priority: l.priority(), keepDelay: true})
}

// emptiedLocked follows the removal of the last value of a line.
func (s *stripe[K, V]) emptiedLocked(key K, l *line[V]) {
	if l.tells == 0 {
		s.removeLocked(key, l)
		return
	}
	s.setStateLocked(l, absent)
	l.values, l.trace = 0, stale
	s.hollow++
	if s.extras != nil { // the last teller removes an empty list
		s.extras.deferred[key] = slices.DeleteFunc(s.extras.deferred[key], func(d deferred[K, V]) bool { return d.back == nil })
	}
}

// extras has what few stripes have. It is nil at first.
type extras[K comparable, V any] struct {
	flights  map[K]flight[V]
	peak     int32                  // of flights, as in a stripe
	deferred map[K][]deferred[K, V] // what calls have left to the last teller of a key
	// canceling has the keys whose processing Cancels are about to cancel.
	canceling map[K]int
	cancels   uint64 // the number of those that have done so
}

func (s *stripe[K, V]) needExtras() *extras[K, V] {
	if s.extras == nil {
		s.extras = &extras[K, V]{flights: map[K]flight[V]{}, peak: smallMap, deferred: map[K][]deferred[K, V]{}, canceling: map[K]int{}}
	}
	return s.extras
}

func (s *stripe[K, V]) deferLocked(key K, d deferred[K, V]) {
	e := s.needExtras()
	e.deferred[key] = append(e.deferred[key], d)
}

func (s *stripe[K, V]) nextDeferredLocked(key K) (d deferred[K, V], is bool) {
	if s.extras == nil || len(s.extras.deferred) == 0 {
		return d, false
	}
	all := s.extras.deferred[key]
	if is = len(all) > 0; is {
		d, all = all[0], all[1:]
	}
	if s.extras.deferred[key] = all; len(all) == 0 {
		delete(s.extras.deferred, key)
	}
	return d, is
}
