package coalesce

import (
	"context"

	"github.com/shardq/shardq/shard"
)

// take takes the next key that has a value. A ready key has none if an earlier
// Take has taken it, for example while a delay of the key was running.
func (c *Coalescer[K, V]) take(ctx context.Context, t *taken[K, V]) (err error) {
	for ok := false; !ok; {
		if t.key, t.priority, t.at, err = c.shards.Take(ctx); err != nil {
			return err
		}
		t.value, ok = c.takeValue(t.key, t.at)
	}
	return nil
}

// A taken is a key in processing with its value.
type taken[K comparable, V any] struct {
	key      K
	value    V
	priority int
	at       shard.Handle
}

// takeValue takes the value of a key in processing. If none can be taken now,
// it ends the processing.
//
// When user code panics, every value must be in a line whose key the queue has.
// Merge and Weight therefore run while the values are in the line. The end of a
// processing may call hooks, and then nothing was taken. After a value was
// taken, no user code runs.
func (c *Coalescer[K, V]) takeValue(key K, at shard.Handle) (value V, ok bool) {
	s := c.stripeOf(key)
	s.mu.Lock()
	l := s.lines[key]
	if !s.deferTakeLocked(l) {
		c.mergeAllLocked(s, l, func() { c.makeReady(key, at) })
		return c.takeFirstAndUnlock(s, key, at, l), true
	}
	s.mu.Unlock()
	c.shards.DoneAt(key, at)
	return value, false
}

// deferTakeLocked reports whether a Take that has the key can take nothing. If
// another call is merging the first value, it reserves that, and the call adds
// the key. The queue accepts the add even if a shutdown begins meanwhile,
// because the call was admitted before.
func (s *stripe[K, V]) deferTakeLocked(l *line[V]) bool {
	if l == nil {
		return true
	}
	if l.first.merging {
		l.first.reserved = true
		s.setStateLocked(l, absent)
		return true
	}
	return false
}

// takeFirstAndUnlock takes the first segment, and releases the lock. If others
// are left, the key becomes ready again at its Done.
func (c *Coalescer[K, V]) takeFirstAndUnlock(s *stripe[K, V], key K, at shard.Handle, l *line[V]) (value V) {
	value, weight := l.removeFirst()
	if c.readable {
		s.takeOffLocked(key, value, at)
	}
	switch rest := l.first; {
	case rest == nil:
		s.removeLocked(key, l)
		c.limit.Release(weight)
		s.mu.Unlock()
	case rest.merging: // the call that merges it adds the key
		rest.reserved = true
		s.setStateLocked(l, absent)
		c.releaseTakenLocked(rest, weight)
		s.mu.Unlock()
	default:
		s.setStateLocked(l, queued)
		c.releaseTakenLocked(rest, weight)
		s.mu.Unlock()
		c.shards.Again(at)
	}
	c.limit.Notify()
	return value
}

// releaseTakenLocked releases the room of a segment that was taken. If keys are
// counted, the room is that of the key, and goes to the segments that are left.
func (c *Coalescer[K, V]) releaseTakenLocked(rest *segment[V], weight int64) {
	if c.weigh == nil {
		rest.weight += weight
	} else {
		c.limit.Release(weight)
	}
}

// makeReady ends the processing of a key whose value was not taken. The key is
// ready again, also after a shutdown.
func (c *Coalescer[K, V]) makeReady(key K, at shard.Handle) {
	c.shards.Again(at)
	c.shards.DoneAt(key, at)
}
