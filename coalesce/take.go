package coalesce

import (
	"context"

	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/worker"
)

// take takes the next key that has a value. A ready key has none if an earlier
// Take has taken it, for example while a delay of the key was running.
func (c *Coalescer[K, V]) take(ctx context.Context, t *taken[K, V]) (err error) {
	for ok := false; !ok; {
		if t.key, _, t.at, err = c.shards.Take(ctx); err != nil {
			return err
		}
		t.value, ok = c.takeValue(t)
	}
	return nil
}

type taken[K comparable, V any] struct {
	key      K
	value    V
	priority int
	at       shard.Handle
}

// takeValue takes the value of a key in processing, or ends the processing.
//
// When user code panics, every value must be in a line whose key the queue has. So Merge
// and Weight run while the values are in the line. The end of a processing may call hooks,
// and then nothing was taken. After a value was taken, no user code runs.
func (c *Coalescer[K, V]) takeValue(t *taken[K, V]) (value V, ok bool) {
	s := c.stripeOf(t.key)
	s.mu.Lock()
	for l := c.beginRunLocked(s, t.key, t.at); !s.deferTakeLocked(l); l = c.beginRunLocked(s, t.key, t.at) {
		if c.mergeAllLocked(s, t.key, l, func() { c.makeBatchReady([]K{t.key}, []shard.Handle{t.at}) }); l.trace == unseen || !l.trace.is(t.at) {
			return c.takeFirstAndUnlock(s, t, l), true
		} // a teller came during Merge
	}
	s.mu.Unlock()
	c.shards.DoneAt(t.key, t.at)
	return value, false
}

// lineToTakeLocked returns the line of a key in processing, from which the
// caller takes all that is not merging: see trace.
func (c *Coalescer[K, V]) lineToTakeLocked(s *stripe[K, V], key K, at shard.Handle) (l *line[V]) {
	for l = s.lines[key]; l != nil && l.trace.is(at); l = s.lines[key] {
		l.trace = unseen
		s.mu.Unlock()
		c.shards.Core.NotAgain(at)
		s.mu.Lock()
	}
	return l
}

// deferTakeLocked reports whether a Take that has the key can take nothing. If
// another call is merging the first value, it reserves that, and the call adds
// the key. The queue accepts the add even if a shutdown begins meanwhile,
// because the call was admitted before.
func (s *stripe[K, V]) deferTakeLocked(l *line[V]) bool {
	if l.isEmpty() || l.trace == stale {
		return true
	}
	if l.first.merging {
		l.first.reserved = true
		s.setStateLocked(l, absent)
		return true
	}
	return false
}

// takeFirstAndUnlock takes the first segment. If others are left, the key becomes
// ready again at its Done.
func (c *Coalescer[K, V]) takeFirstAndUnlock(s *stripe[K, V], t *taken[K, V], l *line[V]) (value V) {
	first := l.removeFirst()
	m := first.mark
	t.priority = first.priority // a call in progress may have yet to ask the queue for it
	if c.keepsFlights() {
		m = s.takeOffLocked(t.key, flight[V]{first.value, c.options.Readable, m, t.at}) // of an earlier processing
	}
	switch rest := l.first; {
	case rest == nil:
		s.emptiedLocked(t.key, l)
		c.limit.Release(first.weight)
		s.mu.Unlock()
	case rest.merging: // the call that merges it adds the key
		rest.reserved = true
		s.setStateLocked(l, absent)
		c.releaseTakenLocked(rest, first.weight)
		s.mu.Unlock()
	default:
		s.setStateLocked(l, queued)
		c.releaseTakenLocked(rest, first.weight)
		priority := l.priority()
		s.mu.Unlock()
		c.shards.Core.Again(t.at, priority)
	}
	m.finish()
	c.limit.Notify()
	return first.value
}

// releaseTakenLocked releases the room of a segment that was taken. If keys are
// counted, the room is that of the key, and goes to the segments that are left.
func (c *Coalescer[K, V]) releaseTakenLocked(rest *segment[V], weight int64) {
	if c.options.Weight == nil {
		rest.weight += weight
	} else {
		c.limit.Release(weight)
	}
}

// tellAgain makes a key in processing ready at its Done, unless a Cancel has taken
// its values.
func (c *Coalescer[K, V]) tellAgain(key K, at shard.Handle) {
	t := teller[K, V]{c: c, stripe: c.stripeOf(key), key: key, uncounted: true}
	t.stripe.mu.Lock()
	l := t.stripe.lines[key]
	if l.isEmpty() {
		t.stripe.mu.Unlock()
		return
	}
	if l.first.taking = false; !l.mayTell() {
		t.deferAndUnlock(deferred[K, V]{})
		return
	}
	l.tells++
	priority := l.priority()
	t.stripe.mu.Unlock()
	defer t.told(l)
	c.shards.Core.Again(at, priority)
}

// claimBatch merges all that must be merged, and ends the processing of keys
// without a value, before it takes anything, as takeValue does.
func (c *Coalescer[K, V]) claimBatch(ctx context.Context, dst []worker.Claim[Entry[K, V]]) (n int, err error) {
	if len(dst) == 0 {
		return 0, nil
	}
	b := c.buffer(len(dst))
	defer c.release(b)
	for n == 0 {
		m, err := c.shards.TakeBatch(ctx, b.keys, nil, b.handles)
		if err != nil {
			return 0, err
		}
		b.used = max(b.used, m)
		m = c.reserveBatch(b, m)
		for i, key := range b.keys[:m] {
			t := taken[K, V]{key: key, at: b.handles[i]}
			ok := false
			if t.value, ok = c.takeReserved(&t); ok {
				c.make(&dst[n], &t)
				n++
			}
		}
	}
	return n, nil
}

// reserveBatch moves the keys that have a value to the front, and ends the
// processing of the others. If user code panics, the keys are ready again.
func (c *Coalescer[K, V]) reserveBatch(b *keyBuffer[K], got int) (n int) {
	keys, handles := b.keys[:got], b.handles[:got]
	owed := len(keys)
	defer func() {
		if owed > 0 {
			c.makeBatchReady(keys[:owed], handles[:owed])
		}
	}()
	for i, key := range keys {
		if c.reserve(key, handles[i]) {
			keys[i], keys[n] = keys[n], keys[i]
			handles[i], handles[n] = handles[n], handles[i]
			n++
		}
	}
	if owed = n; n < len(keys) {
		c.shards.DoneBatchAt(keys[n:], handles[n:])
	}
	owed = 0
	return n
}

// reserve merges the values of a key in processing, and reserves the result until
// it is taken. It reports whether there is one.
func (c *Coalescer[K, V]) reserve(key K, at shard.Handle) bool {
	s := c.stripeOf(key)
	s.mu.Lock()
	l := c.beginRunLocked(s, key, at)
	if s.deferTakeLocked(l) {
		s.mu.Unlock()
		return false
	}
	c.mergeAllLocked(s, key, l, func() {})
	l.first.reserved, l.first.taking = true, true
	s.mu.Unlock()
	return true
}

// takeReserved takes a reserved value. There is none only if a Done that was
// not owed has ended the processing, and another Take has taken the value.
func (c *Coalescer[K, V]) takeReserved(t *taken[K, V]) (value V, ok bool) {
	s := c.stripeOf(t.key)
	s.mu.Lock()
	l := c.lineToTakeLocked(s, t.key, t.at)
	if l.isEmpty() || l.first.merging {
		s.mu.Unlock()
		return value, false
	}
	return c.takeFirstAndUnlock(s, t, l), true
}

func (c *Coalescer[K, V]) makeBatchReady(keys []K, handles []shard.Handle) {
	for i, key := range keys {
		c.tellAgain(key, handles[i])
	}
	c.shards.DoneBatchAt(keys, handles)
}

type keyBuffer[K comparable] struct {
	keys    []K
	handles []shard.Handle
	claims  []worker.Claim[K]
	used    int // the number of keys to clear
}

func (c *Coalescer[K, V]) buffer(n int) *keyBuffer[K] {
	b, _ := c.buffers.Get().(*keyBuffer[K])
	if b == nil || cap(b.keys) < n {
		b = &keyBuffer[K]{keys: make([]K, n), handles: make([]shard.Handle, n)}
	}
	b.keys, b.handles = b.keys[:n], b.handles[:n]
	return b
}

func (c *Coalescer[K, V]) release(b *keyBuffer[K]) {
	clear(b.keys[:b.used])
	b.used = 0
	if cap(b.keys) <= 1024 { // a larger one costs little to make, compared with its batch
		c.buffers.Put(b)
	}
}
