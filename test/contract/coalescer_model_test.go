package contract

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/stats"
)

// A joinModel does with a map what a coalescer of strings does. Its methods are
// the coalescer's, one after the other. They return what is wrong with a result
// of the coalescer, or "".
type joinModel struct {
	joinSetup

	now    time.Time
	keys   map[any]*joinKey
	put    uint64
	paused bool
	pauses map[string]time.Time // of groups, with their ends or the zero time
	gate   bucket               // of the queue
	rates  map[string]bucket    // of groups
	// closed says that a shutdown has begun, and retries how values go back
	// since.
	closed  bool
	retries shardq.RetryPolicy

	// overlaps is true while the model plays calls that ran in the middle of
	// another one. Until that returned or panicked, it may have held back what
	// it did not take.
	overlaps, holdsBack bool

	dropped int             // values that did not go back
	done    map[string]bool // values, as they were put
}

// A joinKey is a key with its values. A value is a letter, a number and a dot.
type joinKey struct {
	phase    joinPhase
	pending  string
	values   int // how many were put for it
	priority int // the highest that they requested
	// deadline is the end of the wait in one of the last three phases, and
	// limit is the earliest MaxWait of that wait, or zero.
	deadline, limit time.Time
	taken           string // the value in processing
	canceled        bool   // since it was taken: it does not go back
	left            bool   // a return was refused, so that it is not done
	failures        int    // -1 if that is not known

	// A Take or a Cancel beside a Merge of the key, or after one that has
	// panicked, may take the first values alone. Then the key is split.
	split bool
	// A Put or a return beside another call for the key may find the key in a
	// state that has changed before it asks for a delay. Then the key is vague
	// while it has values. It is ready at latest at the latest moment that one
	// of them has asked for, and may be ready early.
	vague  bool
	latest time.Time
	// ghost says that the queue may have the key without a value, after a Cancel
	// after a shutdown. A Take passes over it.
	ghost bool
}

// A joinPhase says what the pending value of a key waits for.
type joinPhase uint8

const (
	noValue       joinPhase = iota // no value is pending
	valueReady                     // for a Take, perhaps after a processing
	valueLingers                   // for more values
	valueWaits                     // for the end of a PutWith's delay
	valueBacksOff                  // for the end of its return's delay
)

func (k joinKey) String() string {
	return fmt.Sprintf("%q in phase %d until %v, taken %q", k.pending, k.phase, k.deadline, k.taken)
}

func (k *joinKey) isBusy() bool    { return k.taken != "" }
func (k *joinKey) isReady() bool   { return k.phase == valueReady && !k.isBusy() }
func (k *joinKey) isDelayed() bool { return k.phase >= valueLingers }

func (k *joinKey) makeReady() { k.phase, k.deadline, k.limit = valueReady, time.Time{}, time.Time{} }

// delay begins a wait, or replaces the one before.
func (k *joinKey) delay(phase joinPhase, deadline, limit time.Time) {
	k.phase, k.limit = phase, earliest(k.limit, limit)
	k.deadline = earliest(deadline, k.limit)
}

// blur makes the key vague.
func (k *joinKey) blur(until time.Time) {
	k.vague, k.latest = true, latest(k.latest, latest(k.deadline, until))
}

// split says that Merge has panicked for keys.
func (m *joinModel) split(keys []any) (fault string) { // C54
	for _, key := range keys {
		m.keys[key].split = true
		m.keys[key].blur(m.now)
	}
	return ""
}

// remove removes the pending value, or the first ones of a split key.
func (k *joinKey) remove(value string) (fault string) { // C54
	rest, is := strings.CutPrefix(k.pending, value)
	if !is || value == "" || rest != "" && !k.split {
		return fmt.Sprintf("%q of %+v", value, *k)
	}
	*k = joinKey{
		pending: rest, taken: k.taken, canceled: k.canceled, left: k.left, failures: k.failures, split: k.split, vague: k.vague, latest: latest(k.latest, k.deadline),
	}
	if rest != "" {
		k.makeReady()
		k.vague = true
	}
	return ""
}

// earliest returns the earlier of two times. A zero one does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (m *joinModel) clone() *joinModel {
	c := *m
	c.keys, c.pauses, c.rates = maps.Clone(m.keys), maps.Clone(m.pauses), maps.Clone(m.rates)
	for key, k := range c.keys {
		one := *k
		c.keys[key] = &one
	}
	return &c
}

// from returns the time after d, or zero if d is not positive.
func (m *joinModel) from(d time.Duration) (at time.Time) {
	if d > 0 {
		at = m.now.Add(d)
	}
	return at
}

// Put puts a value. A Put without options has zero ones.
func (m *joinModel) Put(key any, value string, o coalesce.PutOptions) (fault string) { // C76, C77
	if m.closed {
		return "put after a shutdown"
	}
	k := m.keys[key]
	m.put++
	if k.pending != "" {
		k.priority = max(k.priority, o.Priority)
	} else {
		k.priority = o.Priority
	}
	k.pending += value
	k.values++
	phase, end := valueWaits, m.from(o.Delay)
	if o.Delay == 0 && m.Linger > 0 {
		phase, end = valueLingers, m.from(m.Linger)
	}
	switch limit := m.from(o.MaxWait); {
	case k.vague, k.ghost:
		k.blur(end)
	case k.phase == valueReady, k.phase == valueBacksOff && !m.PutEnds:
	case m.LingerValues > 0 && k.values >= m.LingerValues && (phase == valueLingers || k.phase == valueLingers):
		k.makeReady()
	case k.phase == noValue && end.IsZero():
		k.makeReady()
	case k.phase == noValue:
		k.delay(phase, end, limit)
	default:
		m.choose(k, phase, end, limit, o.Policy)
	}
	return ""
}

// choose chooses between the wait of a key and another one, which has no end if
// no delay was requested.
func (m *joinModel) choose(k *joinKey, phase joinPhase, end, limit time.Time, policy shardq.DelayPolicy) { // C38, C77
	keeps := policy == shardq.KeepOld || policy == shardq.KeepLatest
	switch {
	case end.IsZero() && keeps, policy == shardq.KeepOld:
		k.delay(k.phase, k.deadline, limit)
	case end.IsZero():
		k.makeReady()
	case policy == shardq.KeepNew:
		k.delay(phase, end, limit)
	case policy == shardq.KeepLatest:
		k.delay(max(k.phase, phase), latest(k.deadline, end), limit)
	default: // a value that lingers does so until its Linger ends, at most
		k.delay(min(k.phase, phase), earliest(k.deadline, end), limit)
	}
}

// fits reports whether a value fits into the capacity.
func (m *joinModel) fits(key any, value string) bool { // C56
	switch {
	case m.Capacity == 0:
		return true
	case m.Weighed:
		return m.weight() == 0 || m.weight()+len(value) <= m.Capacity
	default:
		return m.keys[key].pending != "" || m.weight() < m.Capacity
	}
}

// weight returns the number of keys with a pending value, or the weight of
// these values.
func (m *joinModel) weight() (sum int) {
	for _, k := range m.keys {
		switch {
		case m.Weighed:
			sum += len(k.pending)
		case k.pending != "":
			sum++
		}
	}
	return sum
}

// clock returns the time as a bucket wants it, which is at a tick.
func (m *joinModel) clock() time.Duration { return time.Duration(m.now.UnixNano()) }

// opens returns when the rates let the key out.
func (m *joinModel) opens(key any) time.Duration { // C67, C69
	group := m.rates[tenantOf(key)]
	return max(m.gate.opens(), group.opens())
}

// wakesAt returns the tick at which one who is parked for the key has a token.
func (m *joinModel) wakesAt(key any) time.Duration { // C69
	return (m.opens(key) + shardq.DefaultTick - 1).Truncate(shardq.DefaultTick)
}

// spend takes the tokens for a key.
func (m *joinModel) spend(key any) { // C67, C69
	group := m.rates[tenantOf(key)]
	group.spend(m.clock(), shardq.DefaultTick)
	m.rates[tenantOf(key)] = group
	m.gate.spend(m.clock(), shardq.DefaultTick)
}

func (m *joinModel) setRate(r shardq.Rate) { // C69
	if m.gate.change(r, m.clock()); !m.gate.limits() {
		m.gate.full = longAgo
	}
}

// lets reports whether neither a pause, nor a rate, nor the limit of its group holds
// back the key.
func (m *joinModel) lets(key any) bool { // C48, C68, C69
	_, groupPaused := m.pauses[tenantOf(key)]
	busy := 0
	for other, k := range m.keys {
		if k.isBusy() && tenantOf(other) == tenantOf(key) {
			busy++
		}
	}
	return !m.paused && !groupPaused && m.opens(key) <= m.clock() && (m.Limit == 0 || busy < m.Limit)
}

// Take takes a value that was handed out, perhaps before a pause beside it.
func (m *joinModel) Take(key any, value string) (fault string) { // C54
	k := m.keys[key]
	if k.isBusy() || !m.lets(key) && !m.overlaps || !k.isReady() && !k.vague {
		return fmt.Sprintf("took %q of %+v", value, *k)
	}
	m.spend(key)
	fault = k.remove(value)
	k.taken, k.canceled, k.left = value, false, false
	return fault
}

// TakeNone checks that there was nothing to take. A Take beside another call
// leaves the key of that call. A shutdown beside a Put ends lingers and delays
// when that has returned.
func (m *joinModel) TakeNone() (fault string) { // C4
	for key, k := range m.keys {
		if k.isReady() && m.lets(key) && !(m.overlaps && (k.vague || m.holdsBack || m.closed)) {
			return fmt.Sprintf("nothing to take, and %v is %+v", key, *k)
		}
	}
	return ""
}

// Cancel takes the pending value back, and cancels a processing.
func (m *joinModel) Cancel(key any, value string) (fault string) { // C78
	k := m.keys[key]
	k.canceled, k.failures = k.isBusy(), 0
	if value != "" {
		m.finish(value)
		k.split = k.split || m.closed // it merges nothing then
		fault = k.remove(value)
		k.ghost = m.closed
		return fault
	}
	if k.pending != "" && !(m.overlaps && k.vague) {
		return fmt.Sprintf("canceled nothing of %+v", *k)
	}
	return ""
}

// RetryNow ends a delay. A shutdown beside a Put ends it later.
func (m *joinModel) RetryNow(key any, ended bool) (fault string) { // C82
	k := m.keys[key]
	if ended != k.isDelayed() && !k.vague && !k.ghost && !(ended && m.overlaps && m.closed) {
		return fmt.Sprintf("ended a delay: %v, of %+v", ended, *k)
	}
	if k.isDelayed() {
		k.makeReady()
	}
	return ""
}

// Done ends a processing.
func (m *joinModel) Done(key any) { // C55
	k := m.keys[key]
	if !k.left {
		m.finish(k.taken)
	}
	k.taken, k.canceled, k.failures = "", false, 0
}

// accepts reports whether values go back.
func (m *joinModel) accepts() bool { return !m.closed || m.retries == shardq.AcceptRetries }

// GiveBack ends a processing, and makes its value pending again after a delay,
// unless it was canceled.
func (m *joinModel) GiveBack(key any, priority int, delay time.Duration) { // C55
	k := m.keys[key]
	if k.canceled {
		m.dropped++
		m.Done(key)
		return
	}
	if k.pending != "" {
		priority = max(priority, k.priority)
	}
	k.pending, k.taken, k.priority = k.taken+k.pending, "", priority
	end := m.from(delay)
	switch {
	case k.vague, k.ghost:
		k.blur(latest(end, m.now.Add(longestBackoff)))
	case delay <= 0:
		k.makeReady()
	case k.phase == valueReady && m.PutEnds:
	case k.phase >= valueLingers && m.PutEnds:
		k.delay(valueBacksOff, earliest(k.deadline, end), time.Time{})
	case k.phase == valueWaits:
		k.limit = time.Time{}
		k.delay(valueBacksOff, latest(k.deadline, end), time.Time{})
	default:
		k.limit = time.Time{}
		k.delay(valueBacksOff, end, time.Time{})
	}
}

// Step lets time pass, and ends waits and pauses.
func (m *joinModel) Step(d time.Duration) { // C19
	m.now = m.now.Add(d)
	for _, k := range m.keys {
		if k.isDelayed() && !k.deadline.After(m.now) {
			k.makeReady()
		}
	}
	maps.DeleteFunc(m.pauses, func(_ string, end time.Time) bool { return !end.IsZero() && !end.After(m.now) })
}

// Next returns how long it is until the next wait ends, or 0 if none is
// running.
func (m *joinModel) Next() time.Duration {
	next := time.Time{}
	for key, k := range m.keys {
		next = earliest(next, k.deadline)
		if at := m.wakesAt(key); k.isReady() && at > m.clock() {
			next = earliest(next, time.Unix(0, int64(at)))
		}
	}
	if next.IsZero() {
		return 0
	}
	return next.Sub(m.now)
}

// Close begins a drain, or a shutdown if the policy is RunDelayed and retries
// are refused. It drops what is delayed, as the policy says.
func (m *joinModel) Close(o shardq.DrainOptions, dropped map[any]string) (fault string) { // C57
	if !m.closed || o.Retries != shardq.AcceptRetries {
		m.retries = o.Retries
	}
	m.closed = true
	for key, k := range m.keys {
		value, drops := dropped[key]
		switch {
		case k.phase == valueLingers, k.isDelayed() && o.Delayed == shardq.RunDelayed:
			k.makeReady()
		case drops != (k.isDelayed() && o.Delayed == shardq.DropDelayed) && !k.vague:
			return fmt.Sprintf("dropped %q of %+v", value, *k)
		}
		if drops {
			k.split = false // a drain drops all
			if fault := k.remove(value); fault != "" {
				return "dropped " + fault
			}
		}
	}
	return ""
}

// Left takes out what a drain has left that ended early. Somebody who was parked may
// take a ready value meanwhile.
func (m *joinModel) Left(left map[any]string, parked bool) (fault string) { // C57
	for key, k := range m.keys {
		switch {
		case left[key] == "" && (k.pending == "" || parked && k.isReady()):
		case left[key] != k.pending:
			return fmt.Sprintf("left %q of %+v", left[key], *k)
		default:
			_ = k.remove(k.pending)
		}
	}
	return ""
}

// Item returns what the queue of keys says about a key.
func (m *joinModel) Item(key any) (item stats.Item[any], held bool) {
	k := m.keys[key]
	if k.phase == noValue && !k.isBusy() {
		return item, false
	}
	item = stats.Item[any]{Item: key, Deadline: k.deadline, Attempts: k.failures}
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
