package contract

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/stats"
)

// A coalescerModel does with maps what a coalescer does for one caller.
type coalescerModel struct {
	capacity     int
	weighed      bool
	putEnds      bool // PutEndsBackoff
	linger       time.Duration
	lingerValues int

	now  time.Time
	keys map[string]*modelKey
	// put counts the values that were accepted, and merged those whose key had
	// one.
	put, merged uint64
}

// A modelKey is a key with its values.
type modelKey struct {
	phase    valuePhase
	pending  string // empty if there is none
	values   int    // how many were put for it
	priority int    // the highest that they requested
	// deadline is the end of the wait in one of the last three phases, and
	// limit is the earliest MaxWait of that wait, or zero.
	deadline, limit time.Time

	taken    string // the value in processing, or empty
	failures int
}

// A valuePhase says what the pending value of a key waits for.
type valuePhase uint8

const (
	noValue       valuePhase = iota // no value is pending
	valueReady                      // for a Take, perhaps after a processing
	valueLingers                    // for more values
	valueWaits                      // for the end of a PutWith's delay
	valueBacksOff                   // for the end of its return's delay
)

func (k *modelKey) isBusy() bool    { return k.taken != "" }
func (k *modelKey) isReady() bool   { return k.phase == valueReady && !k.isBusy() }
func (k *modelKey) isDelayed() bool { return k.phase >= valueLingers }

func (k *modelKey) makeReady() { k.phase, k.deadline, k.limit = valueReady, time.Time{}, time.Time{} }

// drop forgets the pending value.
func (k *modelKey) drop() { *k = modelKey{taken: k.taken, failures: k.failures} }

// delay begins a wait, or replaces the one before.
func (k *modelKey) delay(phase valuePhase, deadline, limit time.Time) {
	k.phase, k.limit = phase, earlier(k.limit, limit)
	k.deadline = earlier(deadline, k.limit)
}

// earlier returns the earlier of two times. A zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// from returns the time after d, or zero if d is not positive.
func (m *coalescerModel) from(d time.Duration) (at time.Time) {
	if d > 0 {
		at = m.now.Add(d)
	}
	return at
}

// Put puts a value. A Put without options has zero ones.
func (m *coalescerModel) Put(key, value string, o coalesce.PutOptions) {
	k := m.keys[key]
	m.put++
	if k.pending != "" {
		m.merged++
		k.priority = max(k.priority, o.Priority)
	} else {
		k.priority = o.Priority
	}
	k.pending += value
	k.values++
	phase, end := valueWaits, m.from(o.Delay)
	if o.Delay == 0 && m.linger > 0 {
		phase, end = valueLingers, m.from(m.linger)
	}
	switch limit := m.from(o.MaxWait); {
	case k.phase == valueReady, k.phase == valueBacksOff && !m.putEnds:
	case m.lingerValues > 0 && k.values >= m.lingerValues && (phase == valueLingers || k.phase == valueLingers):
		k.makeReady()
	case k.phase == noValue && end.IsZero():
		k.makeReady()
	case k.phase == noValue:
		k.delay(phase, end, limit)
	default:
		m.choose(k, phase, end, limit, o.Policy)
	}
}

// choose chooses between the wait of a key and another one, which has no end if
// no delay was requested.
func (m *coalescerModel) choose(k *modelKey, phase valuePhase, end, limit time.Time, policy shardq.DelayPolicy) {
	keeps := policy == shardq.KeepOld || policy == shardq.KeepLatest
	switch {
	case end.IsZero() && keeps:
		k.delay(k.phase, k.deadline, limit)
	case end.IsZero():
		k.makeReady()
	case policy == shardq.KeepOld:
		k.delay(k.phase, k.deadline, limit)
	case policy == shardq.KeepNew:
		k.delay(phase, end, limit)
	case policy == shardq.KeepLatest:
		k.delay(max(k.phase, phase), later(k.deadline, end), limit)
	default: // a value that lingers does so until its Linger ends, at most
		k.delay(min(k.phase, phase), earlier(k.deadline, end), limit)
	}
}

// GiveBack ends a processing, and makes its value pending again after a delay.
func (m *coalescerModel) GiveBack(key string, priority int, delay time.Duration) {
	k := m.keys[key]
	if k.pending != "" {
		priority = max(priority, k.priority)
	}
	k.pending, k.taken, k.priority = k.taken+k.pending, "", priority
	end := m.from(delay)
	switch {
	case delay <= 0:
		k.makeReady()
	case k.phase == valueReady && m.putEnds:
	case k.phase >= valueLingers && m.putEnds:
		k.delay(valueBacksOff, earlier(k.deadline, end), time.Time{})
	case k.phase == valueWaits:
		k.limit = time.Time{}
		k.delay(valueBacksOff, later(k.deadline, end), time.Time{})
	default:
		k.limit = time.Time{}
		k.delay(valueBacksOff, end, time.Time{})
	}
}

// Take takes the pending value.
func (m *coalescerModel) Take(key string) {
	k := m.keys[key]
	*k = modelKey{taken: k.pending, failures: k.failures}
}

// Step lets time pass, and ends waits.
func (m *coalescerModel) Step(d time.Duration) {
	m.now = m.now.Add(d)
	for _, k := range m.keys {
		if k.isDelayed() && !k.deadline.After(m.now) {
			k.makeReady()
		}
	}
}

// Next returns how long it is until the next wait ends, or 0 if none is
// running.
func (m *coalescerModel) Next() time.Duration {
	next := time.Time{}
	for _, k := range m.keys {
		next = earlier(next, k.deadline)
	}
	if next.IsZero() {
		return 0
	}
	return next.Sub(m.now)
}

// Canceled returns what an Operator reports of a Cancel.
func (m *coalescerModel) Canceled(key string) shardq.Canceled {
	k := m.keys[key]
	return shardq.Canceled{
		Ready: k.isReady(), Dirty: k.phase == valueReady && k.isBusy(), Delayed: k.isDelayed(),
	}
}

// Item returns what the queue of keys says about a key, as far as the model
// knows it.
func (m *coalescerModel) Item(key string) (item stats.Item[string], held bool) {
	k := m.keys[key]
	if k.phase == noValue && !k.isBusy() {
		return item, false
	}
	item = stats.Item[string]{Item: key, Deadline: k.deadline, Attempts: k.failures}
	switch {
	case k.isBusy():
		item.State, item.Dirty = stats.Processing, k.phase == valueReady
	case k.isDelayed():
		item.State = stats.Delayed
	default:
		item.State = stats.Ready
	}
	if k.isDelayed() && !k.isBusy() || k.phase == valueReady {
		item.Priority = k.priority
	}
	return item, true
}

// fits reports whether a value fits into the capacity.
func (m *coalescerModel) fits(key, value string) bool {
	switch {
	case m.capacity == 0:
		return true
	case m.weighed:
		return m.weight() == 0 || m.weight()+len(value) <= m.capacity
	default:
		return m.keys[key].pending != "" || m.weight() < m.capacity
	}
}

// weight returns the number of keys with a pending value, or the weight of
// these values.
func (m *coalescerModel) weight() (sum int) {
	if !m.weighed {
		return m.count(func(k *modelKey) bool { return k.pending != "" })
	}
	for _, k := range m.keys {
		sum += len(k.pending)
	}
	return sum
}

func (m *coalescerModel) count(is func(*modelKey) bool) (n int) {
	for _, k := range m.keys {
		if is(k) {
			n++
		}
	}
	return n
}
