package coalesce

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// PutOptions say when a key becomes ready with the value that is put. The value
// is merged at once in any case. The zero PutOptions are those of Put.
type PutOptions struct {
	// Delay is how long the key waits, if it is neither ready nor in a backoff.
	// If zero, [Options].Linger counts instead. If negative, there is no delay.
	Delay time.Duration
	// Policy says which deadline counts if an earlier value has delayed the
	// key, as in [shardq.AddOptions].
	Policy shardq.DelayPolicy
	// MaxWait limits how long later values can put the key off, from now. Of
	// several limits the earliest counts. If not positive, there is none.
	MaxWait time.Duration
	// Priority is the least priority of the key when it is ready, as in
	// [shardq.AddOptions].
	Priority int
}

type filing struct {
	shard.Delay
	lingers bool // the delay is that of Options.Linger
}

// filing also counts the value.
func (p *putter[K, V]) filing(l *line[V]) (w filing) {
	if p.with != nil {
		w.Duration, w.Policy = max(p.with.Delay, 0), p.with.Policy
		w.MaxWait, w.Priority = p.with.MaxWait, p.with.Priority
	}
	w.UnlessReady = true
	l.values++
	if p.c.options.Linger > 0 && (p.with == nil || p.with.Delay == 0) {
		w.lingers, w.Duration = true, p.c.options.Linger
	}
	if p.c.options.LingerValues > 0 && l.values >= uint32(p.c.options.LingerValues) && (w.lingers || l.key == lingering) {
		w.Duration, w.Policy = 0, shard.KeepEarliest
	}
	return w
}

func (p *putter[K, V]) fileAndUnlock(l *line[V]) {
	w := p.filing(l)
	asks, raises := true, w.Priority != 0 || p.low
	w.Priority = l.priority()
	switch {
	case l.key == absent && l.first.reserved: // a Take has come for the values
		p.addAndUnlock(l)
		return
	case l.key == lingering && w.changesNoLinger():
		asks, w.Policy = raises, shard.KeepOld // the first value's linger may not be filed yet
	case l.key == queued, l.key == delayed && !p.c.options.PutEndsBackoff:
		// KeepOld leaves a backoff alone that begins at this moment.
		asks, w.Delay = raises, shard.Delay{Policy: shard.KeepOld, Priority: w.Priority, UnlessReady: true}
	case l.key == absent:
		p.stripe.setStateLocked(l, w.state())
		if !p.c.options.PutEndsBackoff && (w.lingers || w.Duration == 0) {
			w.Policy = shard.KeepOld // likewise
		}
	default:
		p.stripe.setStateLocked(l, w.stateAfter(l.key))
	}
	if !asks {
		p.c.leaveAndUnlock(p.stripe)
		return
	}
	p.tellAndUnlock(l, &deferred[K, V]{files: true, delay: w.Delay})
}

func (w filing) changesNoLinger() bool {
	return w.lingers && w.Duration > 0 && w.MaxWait <= 0 &&
		(w.Policy == shard.KeepEarliest || w.Policy == shard.KeepOld)
}

// stateAfter returns the state of a key after the policy has chosen between an
// earlier delay and this one. A linger that counts with KeepEarliest ends when
// its time has passed, at the latest.
func (w filing) stateAfter(before keyState) keyState {
	switch {
	case w.Policy == shard.KeepOld, w.Duration == 0 && w.Policy == shard.KeepLatest:
		return before
	case w.Duration > 0 && w.Policy == shard.KeepEarliest && before == lingering:
		return lingering
	case w.Policy == shard.KeepLatest && before != lingering:
		return waiting
	}
	return w.state()
}

func (w filing) state() keyState {
	switch {
	case w.Duration == 0:
		return queued
	case w.lingers:
		return lingering
	}
	return waiting
}

// endLingers is called before the queue of keys refuses adds, so that a drain
// treats no lingering value as delayed.
func (c *Coalescer[K, V]) endLingers() {
	if c.options.Linger == 0 {
		return
	}
	for _, key := range c.keysOf(func(l *line[V]) bool { return l.key == lingering }) {
		c.shards.EndDelay(key)
	}
}

func (c *Coalescer[K, V]) keysOf(is func(l *line[V]) bool) (keys []K) {
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		for key, l := range s.lines {
			if is(l) {
				keys = append(keys, key)
			}
		}
		s.mu.Unlock()
	}
	return keys
}
