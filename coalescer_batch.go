package shardq

import "context"

// takeBatch takes the next keys that have values. What has to be merged is merged before
// anything is taken, so that if Merge panics, no value is out.
func (c *Coalescer[K, V]) takeBatch(ctx context.Context, dst []Pending[K, V]) (n int, err error) {
	if len(dst) == 0 {
		return 0, nil
	}
	keys, used := c.buffer(len(dst)), 0
	defer func() { c.release(keys, used) }()
	for n == 0 {
		m, err := c.queue.GetBatch(ctx, *keys)
		if err != nil {
			return 0, err
		}
		batch := (*keys)[:m]
		used = max(used, m)
		c.unify(batch)
		n = c.claimBatch(batch, dst)
	}
	return n, nil
}

// unify merges what is pending for each of the keys. If user code panics, all are handed back.
func (c *Coalescer[K, V]) unify(keys []K) {
	handBack := func() {
		for _, key := range keys {
			c.handBack(key)
		}
	}
	for _, key := range keys {
		s := c.stripeOf(key)
		s.mu.Lock()
		if e := s.entries[key]; e != nil && !e.first.merging {
			c.unifyLocked(s, e, handBack)
		}
		s.mu.Unlock()
	}
}

// claimBatch takes the values of the keys.
func (c *Coalescer[K, V]) claimBatch(keys []K, dst []Pending[K, V]) (n int) {
	for _, key := range keys {
		s := c.stripeOf(key)
		s.mu.Lock()
		if e := s.entries[key]; e == nil || e.first.merging {
			c.passByLocked(s, key, e)
		} else {
			dst[n] = Pending[K, V]{key, c.claimLocked(s, key, e)}
			n++
		}
	}
	return n
}

// doneBatch ends the processing of keys, and their histories.
func (c *Coalescer[K, V]) doneBatch(taken []Pending[K, V]) {
	defer c.endBatch(taken) // also if the limiter panics
	for i := range taken {
		c.queue.Forget(taken[i].Key)
	}
}

// endBatch ends the processing of keys.
func (c *Coalescer[K, V]) endBatch(taken []Pending[K, V]) {
	keys := c.buffer(len(taken))
	defer c.release(keys, len(taken))
	for i := range taken {
		(*keys)[i] = taken[i].Key
	}
	c.queue.DoneBatch(*keys)
}

// buffer returns space for n keys.
func (c *Coalescer[K, V]) buffer(n int) *[]K {
	keys, _ := c.buffers.Get().(*[]K)
	if keys == nil || cap(*keys) < n {
		keys = new([]K)
		*keys = make([]K, n)
	}
	*keys = (*keys)[:n]
	return keys
}

// release takes back space of which so much was used.
func (c *Coalescer[K, V]) release(keys *[]K, used int) {
	clear((*keys)[:used])
	c.buffers.Put(keys)
}
