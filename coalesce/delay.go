package coalesce

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// PutOptions say how [Coalescer.PutWith] puts a value. The value is merged at
// once in any case. The options say when the key becomes ready with it.
type PutOptions struct {
	// Delay is how long the key waits, if it is neither ready nor in a backoff.
	// It does not hold up values that are ready already.
	//
	// If zero, [Options].Linger counts instead. If negative, there is no delay.
	Delay time.Duration
	// Policy says which deadline counts if an earlier value has delayed the
	// key, as in [shardq.AddOptions]. With [shardq.KeepLatest] the key becomes
	// ready when no value has been put for a while (debounce).
	//
	// If there is no delay, [shardq.KeepEarliest] and [shardq.KeepNew] make the
	// key ready. With the other two it stays delayed.
	Policy shardq.DelayPolicy
	// MaxWait limits how long the key can be put off, also by later values: it
	// is ready at most MaxWait from now. Of several limits the earliest counts.
	//
	// If zero or negative, there is no limit.
	MaxWait time.Duration
	// Priority is the least priority that the key has when it is ready, as in
	// [shardq.AddOptions]. The highest priority of all values that are taken
	// together counts. The other puts request 0.
	Priority int
}

// PutWith is [Coalescer.Put] as the options say. An unknown policy panics.
//
// A key in a backoff stays delayed, whatever the options. With
// [Options].PutEndsBackoff, Policy chooses between the backoff and the delay.
// If another call for the key runs at the same time, the delay of either may
// count.
func (c *Coalescer[K, V]) PutWith(key K, value V, options PutOptions) error {
	if !options.Policy.Valid() {
		panic(fmt.Sprintf("coalesce: PutOptions.Policy is %d: want shardq.KeepEarliest, KeepLatest, KeepNew or KeepOld", options.Policy))
	}
	if c.shards.Reject(key) {
		return shardq.ErrRejected
	}
	p := putter[K, V]{c: c, key: key, value: value}
	p.init()
	p.with = &options
	return p.put(forceAcquire)
}

// A filing is what a Put with a delay or a priority asks of the queue.
type filing struct {
	shard.Delay
	// lingers says that the delay is that of Options.Linger.
	lingers bool
}

// filing returns what the Put asks for. It counts the value.
func (p *putter[K, V]) filing(l *line[V]) (w filing) {
	if p.with != nil {
		w.Delay = shard.Delay{
			Duration: max(p.with.Delay, 0), Policy: p.with.Policy,
			MaxWait: p.with.MaxWait, Priority: p.with.Priority, UnlessReady: true,
		}
	} else {
		w.UnlessReady = true
	}
	l.values++
	if p.c.linger > 0 && (p.with == nil || p.with.Delay == 0) {
		w.lingers, w.Duration = true, p.c.linger
	}
	if p.c.lingerValues > 0 && l.values >= p.c.lingerValues && (w.lingers || l.key == lingering) {
		w.Duration, w.Policy = 0, shard.KeepEarliest
	}
	return w
}

// fileAndUnlock is finishAndUnlock of a Put that may ask for a delay or a
// priority.
func (p *putter[K, V]) fileAndUnlock(l *line[V]) {
	w := p.filing(l)
	asks, raises := true, w.Priority != 0 || l.low
	l.request(w.Priority, l.key == absent)
	switch {
	case l.key == absent && l.first.reserved: // a Take has come for the values
		p.addAndUnlock(l)
		return
	case l.key == queued, l.key == delayed && !p.c.putEndsBackoff:
		// KeepOld leaves a backoff alone that begins at this moment.
		asks, w.Delay = raises, shard.Delay{Policy: shard.KeepOld, Priority: w.Priority}
	case l.key == lingering && w.changesNoLinger():
		asks, w.Delay = raises, shard.Delay{Policy: shard.KeepOld, Priority: w.Priority}
	case l.key == absent && !p.c.putEndsBackoff && (w.lingers || w.Duration == 0):
		p.stripe.setStateLocked(l, w.state())
		w.Policy = shard.KeepOld // likewise
	case l.key == absent:
		p.stripe.setStateLocked(l, w.state())
	default:
		p.stripe.setStateLocked(l, w.stateAfter(l.key))
	}
	if !asks {
		p.c.leaveAndUnlock(p.stripe)
		return
	}
	removed := p.stripe.removed
	p.stripe.mu.Unlock()
	defer p.leave(removed)
	p.c.shards.FileTo(p.key, p.route(), w.Delay)
}

// changesNoLinger reports whether a key that lingers goes on as it did.
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
	default:
		return w.state()
	}
}

func (w filing) state() keyState {
	switch {
	case w.Duration == 0:
		return queued
	case w.lingers:
		return lingering
	default:
		return waiting
	}
}

// endLingers makes the keys ready that linger. A shutdown calls it before the
// queue of keys refuses adds, so that a drain treats no lingering value as
// delayed.
func (c *Coalescer[K, V]) endLingers() {
	if c.linger == 0 {
		return
	}
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		for _, key := range s.lingeringKeys() {
			c.endLinger(s, key)
		}
	}
}

func (s *stripe[K, V]) lingeringKeys() (keys []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.lines {
		if l.key == lingering {
			keys = append(keys, key)
		}
	}
	return keys
}

// endLinger leaves the state alone if the clock panics: the key is delayed then.
func (c *Coalescer[K, V]) endLinger(s *stripe[K, V], key K) {
	c.shards.EndDelay(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil && l.key == lingering {
		s.setStateLocked(l, queued)
	}
}
