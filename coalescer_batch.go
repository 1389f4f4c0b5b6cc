package shardq

import (
	"context"

	"github.com/shardq/shardq/shard"
)

// takeBatch takes the next keys that have values, room at most, by the rule of claim:
// what has to be merged is merged, and the keys without a value are given up, before
// anything is taken. It calls taken with each, and its index.
func (c *Coalescer[K, V]) takeBatch(ctx context.Context, room int, taken func(i int, key K, value V, at shard.Handle)) (n int, err error) {
	if room == 0 {
		return 0, nil
	}
	b := c.buffer(room)
	defer c.release(b)
	for n == 0 {
		m, err := c.queue.shards.TakeBatch(ctx, b.keys, nil, b.handles)
		if err != nil {
			return 0, err
		}
		b.used = max(b.used, m)
		m = c.pinBatch(b.keys[:m], b.handles[:m])
		for i, key := range b.keys[:m] {
			if value, ok := c.claimPinned(key, b.handles[i]); ok {
				taken(n, key, value, b.handles[i])
				n++
			}
		}
	}
	return n, nil
}

// pinBatch pins the values of the keys, moves the keys that have one to the front,
// and ends the processing of the others. It returns how many have one. If user
// code panics, the keys come again.
func (c *Coalescer[K, V]) pinBatch(keys []K, handles []shard.Handle) (n int) {
	owed := len(keys)
	defer func() {
		if owed > 0 {
			c.handBackBatch(keys[:owed], handles[:owed])
		}
	}()
	for i, key := range keys {
		if c.pin(key) {
			keys[i], keys[n] = keys[n], keys[i]
			handles[i], handles[n] = handles[n], handles[i]
			n++
		}
	}
	if owed = n; n < len(keys) {
		c.queue.shards.DoneBatchAt(keys[n:], handles[n:])
	}
	owed = 0
	return n
}

// pin makes one value of what is pending for a key in processing, and sees to it
// that nothing is merged into that until it is taken. It reports whether there is
// a value.
func (c *Coalescer[K, V]) pin(key K) bool {
	s := c.stripeOf(key)
	s.mu.Lock()
	e := s.entries[key]
	if e.passedByLocked() {
		s.mu.Unlock()
		return false
	}
	c.unifyLocked(s, e, func() {})
	e.first.wanted = true
	s.mu.Unlock()
	return true
}

// claimPinned takes a value that was pinned. There is none only if a stray Done has
// ended the processing, and the value went with another Take.
func (c *Coalescer[K, V]) claimPinned(key K, at shard.Handle) (value V, ok bool) {
	s := c.stripeOf(key)
	s.mu.Lock()
	e := s.entries[key]
	if e == nil || e.first.merging {
		s.mu.Unlock()
		return value, false
	}
	return c.claimLocked(s, key, at, e), true
}

// handBackBatch is handBack of each of the keys.
func (c *Coalescer[K, V]) handBackBatch(keys []K, handles []shard.Handle) {
	for i := range keys {
		c.queue.shards.Again(handles[i])
	}
	c.queue.shards.DoneBatchAt(keys, handles)
}

// doneBatch ends the processing of keys, and their histories.
func (c *Coalescer[K, V]) doneBatch(taken []Pending[K, V]) {
	defer c.endBatch(taken) // also if the limiter panics
	for i := range taken {
		c.queue.Forget(taken[i].Key)
	}
}

func (c *Coalescer[K, V]) endBatch(taken []Pending[K, V]) {
	b := c.buffer(len(taken))
	defer c.release(b)
	b.used = len(taken)
	for i := range taken {
		b.keys[i] = taken[i].Key
	}
	c.queue.DoneBatch(b.keys)
}

// A keyBuffer is space for the keys of a batch, and their handles, or their claims.
type keyBuffer[K comparable] struct {
	keys    []K
	handles []shard.Handle
	claims  []Claim[K]
	used    int // how many of the keys are to be cleared
}

// maxKeptBuffer is how many keys a buffer has room for at most that is kept for the
// next batch. To make a larger one costs little beside the batch.
const maxKeptBuffer = 1024

// buffer returns space for n keys.
func (c *Coalescer[K, V]) buffer(n int) *keyBuffer[K] {
	b, _ := c.buffers.Get().(*keyBuffer[K])
	if b == nil || cap(b.keys) < n {
		b = &keyBuffer[K]{keys: make([]K, n), handles: make([]shard.Handle, n)}
	}
	b.keys, b.handles = b.keys[:n], b.handles[:n]
	return b
}

// release takes back space.
func (c *Coalescer[K, V]) release(b *keyBuffer[K]) {
	clear(b.keys[:b.used])
	b.used = 0
	if cap(b.keys) <= maxKeptBuffer {
		c.buffers.Put(b)
	}
}
