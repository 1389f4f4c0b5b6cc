package coalesce

import (
	"context"

	"github.com/shardq/shardq/internal/foreach"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/worker"
)

// takeBatch takes the next keys that have values, at most room, and calls use
// with each and its index. As in takeValue, it merges all that must be merged,
// and ends the processing of keys without a value, before it takes anything.
func (c *Coalescer[K, V]) takeBatch(ctx context.Context, room int, use func(i int, t taken[K, V])) (n int, err error) {
	if room == 0 {
		return 0, nil
	}
	b := c.buffer(room)
	defer c.release(b)
	for n == 0 {
		m, err := c.shards.TakeBatch(ctx, b.keys, b.priorities, b.handles)
		if err != nil {
			return 0, err
		}
		b.used = max(b.used, m)
		m = c.reserveBatch(b, m)
		for i, key := range b.keys[:m] {
			t := taken[K, V]{key: key, priority: b.priorities[i], at: b.handles[i]}
			ok := false
			if t.value, ok = c.takeReserved(key, t.at); ok {
				use(n, t)
				n++
			}
		}
	}
	return n, nil
}

// reserveBatch reserves the values of the keys, and moves the keys that have
// one to the front. It ends the processing of the others. It returns the number
// of keys that have a value. If user code panics, the keys are ready again.
func (c *Coalescer[K, V]) reserveBatch(b *keyBuffer[K], got int) (n int) {
	keys, handles, priorities := b.keys[:got], b.handles[:got], b.priorities
	owed := len(keys)
	defer func() {
		if owed > 0 {
			c.makeBatchReady(keys[:owed], handles[:owed])
		}
	}()
	for i, key := range keys {
		if c.reserve(key) {
			keys[i], keys[n] = keys[n], keys[i]
			handles[i], handles[n] = handles[n], handles[i]
			priorities[i], priorities[n] = priorities[n], priorities[i]
			n++
		}
	}
	if owed = n; n < len(keys) {
		c.shards.DoneBatchAt(keys[n:], handles[n:])
	}
	owed = 0
	return n
}

// reserve merges the pending values of a key in processing into one value, and
// reserves that until it is taken. It reports whether there is a value.
func (c *Coalescer[K, V]) reserve(key K) bool {
	s := c.stripeOf(key)
	s.mu.Lock()
	l := s.lines[key]
	if s.deferTakeLocked(l) {
		s.mu.Unlock()
		return false
	}
	c.mergeAllLocked(s, l, func() {})
	l.first.reserved, l.first.taking = true, true
	s.mu.Unlock()
	return true
}

// takeReserved takes a reserved value. There is none only if a Done that was
// not owed has ended the processing, and another Take has taken the value.
func (c *Coalescer[K, V]) takeReserved(key K, at shard.Handle) (value V, ok bool) {
	s := c.stripeOf(key)
	s.mu.Lock()
	l := s.lines[key]
	if l == nil || l.first.merging {
		s.mu.Unlock()
		return value, false
	}
	return c.takeFirstAndUnlock(s, key, at, l), true
}

func (c *Coalescer[K, V]) makeBatchReady(keys []K, handles []shard.Handle) {
	for i, key := range keys {
		s := c.stripeOf(key)
		s.mu.Lock()
		if l := s.lines[key]; l != nil {
			l.first.taking = false
		}
		s.mu.Unlock()
		c.shards.Again(handles[i])
	}
	c.shards.DoneBatchAt(keys, handles)
}

func (c *Coalescer[K, V]) doneBatch(taken []Entry[K, V]) {
	defer c.endBatch(taken) // also if the limiter panics
	for i := range taken {
		c.queue.Forget(taken[i].Key)
	}
}

func (c *Coalescer[K, V]) endBatch(taken []Entry[K, V]) {
	b := c.buffer(len(taken))
	defer c.release(b)
	b.used = len(taken)
	for i := range taken {
		b.keys[i] = taken[i].Key
		c.land(b.keys[i])
	}
	foreach.Do(len(b.keys), func(i int) { c.queue.Done(b.keys[i]) }) // all, also if the clock panics
}

// A keyBuffer has space for the keys of a batch, and for their handles and
// priorities or their claims.
type keyBuffer[K comparable] struct {
	keys       []K
	handles    []shard.Handle
	priorities []int
	claims     []worker.Claim[K]
	used       int // the number of keys to clear
}

// maxKeptBuffer is the greatest number of keys of a buffer that is kept for the
// next batch. A larger one costs little to make, compared with its batch.
const maxKeptBuffer = 1024

func (c *Coalescer[K, V]) buffer(n int) *keyBuffer[K] {
	b, _ := c.buffers.Get().(*keyBuffer[K])
	if b == nil || cap(b.keys) < n {
		b = &keyBuffer[K]{keys: make([]K, n), handles: make([]shard.Handle, n), priorities: make([]int, n)}
	}
	b.keys, b.handles, b.priorities = b.keys[:n], b.handles[:n], b.priorities[:n]
	return b
}

func (c *Coalescer[K, V]) release(b *keyBuffer[K]) {
	clear(b.keys[:b.used])
	b.used = 0
	if cap(b.keys) <= maxKeptBuffer {
		c.buffers.Put(b)
	}
}
