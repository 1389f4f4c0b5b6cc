package contract

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// tickAt returns the first tick at or after a moment, and tickOf the beginning
// of the tick of a moment.
func (m *model) tickAt(at time.Duration) time.Duration { // C19
	if beyond := at - m.tickOf(at); beyond > 0 {
		return plus(at, m.tick-beyond)
	}
	return at
}

func (m *model) tickOf(at time.Duration) time.Duration {
	return at - (at%m.tick+m.tick)%m.tick
}

// plus returns a + b, at most endOfTime. b must not be negative.
func plus(a, b time.Duration) time.Duration { // C22
	if a > endOfTime-b {
		return endOfTime
	}
	return a + b
}

// addWith adds an item with the options of an add. If limited is true, the add
// honors the capacity. Otherwise it always succeeds, except for windows.
func (m *model) addWith(item string, o shardq.AddOptions, limited bool) error { // C79
	m.moment++
	if o.RateLimited {
		o.After = max(o.After, m.backoff(item))
	}
	if err := m.refusal(item, o, limited); err != nil {
		return err
	}
	m.accept(item, o, limited)
	return nil
}

// refusal returns why an add is refused, or nil. It counts a refusal.
func (m *model) refusal(item string, o shardq.AddOptions, limited bool) error { // C10, C40, C80
	e := m.entry(item)
	switch {
	case m.ends.phase != queueOpen && (limited || !m.takesBack(e)):
		m.counts.Dropped++
		return shardq.ErrShutDown
	case m.ends.phase == queueOpen && o.NotAgainWithin > 0 && m.inWindow(item):
		m.counts.Deduplicated++
		return shardq.ErrNotAgain
	case limited && !e.held() && !m.hasRoom():
		return shardq.ErrFull
	}
	return nil
}

func (m *model) inWindow(item string) bool { // C80
	ends, any := m.windows[item]
	return any && ends > m.now
}

// accept does what an add does that was not refused.
func (m *model) accept(item string, o shardq.AddOptions, limited bool) { // C20, C23, C38
	e := m.entry(item)
	asked := o.After
	if !o.At.IsZero() {
		o.After = max(o.After, o.At.Sub(m.began)-m.now)
	}
	if capacity := m.counts.Capacity; capacity > 0 && !e.held() && m.held() >= capacity && !limited {
		m.counts.OverCapacity++
	}
	if o.NotAgainWithin > 0 && m.ends.phase == queueOpen {
		m.windows[item] = m.tickAt(plus(m.now, o.NotAgainWithin))
	}
	if (o.RateLimited || asked != 0 || !o.At.IsZero()) && m.ends.phase == queueOpen {
		m.measured.retries++
	}
	stays := e.delayed && !e.backsOff && (o.Policy == shardq.KeepOld || o.Policy == shardq.KeepLatest)
	if o.After > 0 || !stays || limited {
		m.configure(e)
	}
	switch {
	case o.After > 0:
		m.delay(e, o, o.RateLimited)
	case o.Policy == shardq.KeepEarliest:
		m.add(e, o.Priority, m.setup.is("cancel delay on add", "yes"), false)
	case stays:
		m.putOff(e, e.deadline, o)
	default:
		m.add(e, o.Priority, true, false)
	}
}

// joinBackoff is an add, perhaps with a delay, of an item that waits for its
// backoff, which serves it.
func (m *model) joinBackoff(e *entry, priority int) { // C28
	e.serves = true
	m.counts.Deduplicated++
	m.raiseDelayed(e, priority)
}

// delay begins a delay of an item, or changes it. A backoff that adds do not end
// serves what was added during the processing, and the delay before.
func (m *model) delay(e *entry, o shardq.AddOptions, backoff bool) { // C19, C21, C28, C61
	m.measured.delays = append(m.measured.delays, o.After)
	deadline := m.tickAt(plus(m.now, o.After))
	backoff = backoff && m.setup.is("keep backoff", "yes")
	if e.backsOff {
		m.joinBackoff(e, o.Priority)
		return
	}
	serves := backoff && (e.phase == dirty || e.delayed)
	if backoff {
		if e.phase == dirty {
			m.leaveLine(e)
			o.Priority = max(o.Priority, e.priority)
			m.follow(e, func() { e.phase = processing })
		}
		if o.MaxWait > 0 {
			deadline, o.MaxWait = min(deadline, m.tickAt(plus(m.now, o.MaxWait))), 0
		}
		if e.delayed {
			o.Priority = max(o.Priority, e.delayPriority)
			m.stopDelay(e)
		}
	}
	switch {
	case e.inLine() && m.setup.is("drop delay if ready", "yes"):
		m.counts.Deduplicated++
		m.follow(e, func() {
			m.noteRequest(e, o.Priority, m.keepsPlaces())
			m.raise(e, o.Priority)
		})
	case e.delayed:
		m.putOff(e, map[shardq.DelayPolicy]time.Duration{
			shardq.KeepEarliest: min(e.deadline, deadline),
			shardq.KeepLatest:   max(e.deadline, deadline),
			shardq.KeepNew:      deadline,
			shardq.KeepOld:      e.deadline,
		}[o.Policy], o)
	default:
		e.delayed, e.backsOff, e.serves, e.deadline, e.delayPriority = true, backoff, serves, longAgo, o.Priority-1
		if e.phase == idle {
			e.since = m.tickOf(m.now)
		}
		m.putOff(e, deadline, o)
	}
}

// putOff sets the deadline of a delayed item, within the earliest of its
// limits.
func (m *model) putOff(e *entry, deadline time.Duration, o shardq.AddOptions) { // C38
	if o.MaxWait > 0 {
		e.limit = min(e.limit, m.tickAt(plus(m.now, o.MaxWait)))
	}
	if deadline = min(deadline, e.limit); deadline != e.deadline {
		e.moved = e.deadline != longAgo
		e.deadline, e.filed = deadline, m.moment
	}
	m.raiseDelayed(e, o.Priority)
}

func (m *model) raiseDelayed(e *entry, priority int) { // C45
	m.noteRequest(e, priority, false)
	if priority > e.delayPriority {
		if e.delayPriority = priority; !e.inLine() {
			e.place = m.moment
		}
	}
}

func (m *model) stopDelay(e *entry) {
	e.delayed, e.backsOff, e.serves, e.deadline, e.limit, e.delayPriority = false, false, false, 0, endOfTime, 0
}

// backoff asks the limiter of [newQueue], which doubles the delay.
func (m *model) backoff(item string) time.Duration { // C28, C29
	if m.ends.phase == queueOpen {
		m.measured.backoffs++
	}
	m.limiter[item]++
	return min(leastBackoff<<min(m.limiter[item]-1, 30), mostBackoff)
}

// forget also ends a backoff: as its time would if it serves adds.
func (m *model) forget(item string) { // C28
	delete(m.limiter, item)
	e := m.entry(item)
	if e.serves {
		m.moment++
		m.endDelay(e)
	}
	e.backsOff = false
}

// pass lets time pass, backward if to is before now. What is due by then
// happens: waits of groups end, and then delays, in the order of their ticks.
func (m *model) pass(to time.Duration) { // C24
	m.now = to
	m.endReviews()
	if m.ends.phase != queueClosed {
		m.expire(func(e *entry) bool { return e.deadline <= m.now })
	}
	for item, ends := range m.windows {
		if ends <= m.now {
			delete(m.windows, item)
		}
	}
}

func (m *model) endReviews() { // C67, C68
	var due []*line
	for _, l := range m.lines {
		if l.review <= m.now {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *line) int { return cmp.Compare(a.review, b.review) })
	at := time.Duration(longAgo)
	for _, l := range due {
		if at != l.review {
			m.moment++
		}
		at = l.review
		m.lookAgain(l)
	}
}

// expire lets delays expire, tick by tick.
func (m *model) expire(which func(e *entry) bool) { // C24
	var due []*entry
	for _, e := range m.items {
		if e.delayed && which(e) {
			due = append(due, e)
		}
	}
	// The order within a tick is that of the calls. It decides whether a level is
	// empty for a moment when its items are raised, and so which is passed over
	// longest.
	slices.SortFunc(due, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.filed, b.filed))
	})
	at := time.Duration(longAgo)
	for _, e := range due {
		if at != e.deadline {
			m.moment++
		}
		at = e.deadline
		m.disordered = m.disordered || m.interval() > 0 && m.mayOvertake(e, due)
		m.endDelay(e)
	}
}

// mayOvertake reports whether a delay ends at the tick of another of its line in
// no known order: one of them was moved, perhaps within its slot of the wheel, or
// their callers were admitted together.
func (m *model) mayOvertake(e *entry, due []*entry) bool { // C24
	return slices.ContainsFunc(due, func(o *entry) bool {
		together := o != e && o.deadline == e.deadline && m.lineOf(o) == m.lineOf(e)
		return together && (o.moved || e.moved || o.filed == e.filed)
	})
}

func (m *model) endDelay(e *entry) { // C21
	m.counts.Expired++
	priority := e.delayPriority
	m.stopDelay(e)
	m.add(e, priority, false, true)
}

// retryNow ends the delay of an item at once. It reports whether there was one.
func (m *model) retryNow(item string) bool { // C82
	m.moment++
	e := m.entry(item)
	was := e.delayed
	if was {
		m.endDelay(e)
	}
	return was
}

// nextEvent returns when something happens next without a call.
func (m *model) nextEvent() (at time.Duration, any bool) { // C25
	at = endOfTime
	consider := func(t time.Duration) {
		if t > m.now {
			at = min(at, t)
		}
	}
	for _, e := range m.items {
		if e.delayed {
			consider(e.deadline)
		}
	}
	for _, l := range m.lines {
		consider(l.review)
	}
	for _, ends := range m.windows {
		consider(ends)
	}
	for _, w := range m.ends.drains {
		if w.deadline > 0 {
			consider(w.deadline)
		}
	}
	if m.gate.limits() {
		consider(m.tickAt(m.gate.opens()))
	}
	return at, at < endOfTime
}

// racy reports whether consumers that wake until a moment may take items while
// the order still changes. Many delays do not end at once.
func (m *model) racy(until time.Duration) bool { // C26
	waits := m.gate.limits() && m.tickAt(m.gate.opens()) > m.now // they wake at a tick
	for _, l := range m.lines {
		waits = waits || l.review <= until
	}
	due := m.count(func(e *entry) bool { return e.delayed && e.deadline <= until })
	levels := 1 + bits.Len64(uint64(max(0, until-m.now)/m.tick))/6 // of the wheel, as a rule
	return waits && due > 0 || due*levels > 128
}

// readiesApart reports whether items become ready by a moment in several shards,
// one after the other. Consumers that wake in between see the first (C26).
func (m *model) readiesApart(until time.Duration) bool { // C26
	shards := map[int]bool{}
	for _, e := range m.items {
		if e.delayed && e.deadline <= until {
			shards[m.lineOf(e).shard] = true
		}
	}
	for _, l := range m.lines {
		if l.review <= until {
			shards[l.shard] = true
		}
	}
	return len(shards) > 1
}
