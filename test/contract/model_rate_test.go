package contract

import (
	"math"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// rates are the rates of queues, and groupPolicies what the user says of
// groups.
var rates = []shardq.Rate{{}, {PerSecond: 1}, {PerSecond: 1, Burst: 3}, {PerSecond: 300, Burst: 2}, {PerSecond: 1000, Burst: 4}}

var groupPolicies = []shardq.GroupPolicy{
	{Weight: 1}, {Weight: 3}, {Weight: 2, Limit: 1}, {Limit: 2},
	{Weight: 1, Rate: rates[1]}, {Weight: 2, Rate: rates[2]}, {Limit: 2, Rate: rates[3]}, {Weight: 1, Rate: rates[4]},
}

// A bucket has the tokens of a rate, by the generic cell rate algorithm: full
// is when it has all tokens again, and each token moves that by an interval.
type bucket struct {
	rate shardq.Rate
	full time.Duration
}

func (b *bucket) limits() bool { return b.rate.PerSecond > 0 }

func interval(r shardq.Rate) time.Duration { return time.Duration(math.Ceil(1e9 / r.PerSecond)) }

// filling is the time in which n tokens come.
func filling(r shardq.Rate, n int) time.Duration { return interval(r) * time.Duration(n) }

func burst(r shardq.Rate) int { return max(1, r.Burst) }

// opens returns from when on there is a token.
func (b *bucket) opens() time.Duration { // C67
	if !b.limits() {
		return longAgo
	}
	return b.full - filling(b.rate, burst(b.rate)-1)
}

// spend takes a token. A consumer that comes up to two ticks late loses
// nothing, unless it has rested.
func (b *bucket) spend(now, tick time.Duration) { // C67
	if !b.limits() {
		return
	}
	switch late := now - b.full; {
	case late > 10*tick:
		b.full = now
	case late > 2*tick:
		b.full = now - 2*tick
	}
	b.full += interval(b.rate)
}

// change sets another rate. The tokens that are there stay, up to the burst.
func (b *bucket) change(to shardq.Rate, now time.Duration) { // C67, C69
	from := b.rate
	b.rate = to
	switch {
	case from == to:
	case from.PerSecond == 0 || to.PerSecond == 0 || b.full <= now && burst(to) <= burst(from):
		b.full = min(b.full, now)
	default:
		left := filling(from, burst(from)) - max(0, b.full-now)
		now -= min(0, left) // the clock was set back
		left = max(0, left)
		whole := filling(to, burst(to))
		b.full = now + whole - min(whole, left*interval(to)/interval(from))
	}
}

// A gate lets a queue hand out items.
type gate struct {
	bucket
	paused bool
}

func (g *gate) allows(now time.Duration) bool { return !g.paused && g.opens() <= now }

// A throttle blocks a group.
type throttle struct {
	limit           int
	noToken, paused bool
	hasBucket       bool
	bucket          bucket
	wanted          shardq.Rate
	until           time.Duration
	// review is when the queue looks again at what blocks the group.
	review time.Duration
}

func newThrottle() throttle {
	return throttle{bucket: bucket{full: longAgo}, until: longAgo, review: endOfTime}
}

func (t *throttle) blocked(inFlight int) bool { // C48, C67, C68
	return t.noToken || t.paused || t.limit > 0 && inFlight >= t.limit
}

func (m *model) inFlightOf(l *line) int { return len(m.in(l, (*entry).inFlight)) }

// reason returns why a line is throttled.
func (m *model) reason(l *line) stats.Throttling { // C43
	switch {
	case l.state != throttled:
		return stats.NotThrottled
	case l.paused:
		return stats.ThrottledByPause
	case l.noToken:
		return stats.ThrottledByRate
	}
	return stats.ThrottledByLimit
}

func (m *model) throttleIfBlocked(l *line) { // C48
	if l.state == selectable && l.blocked(m.inFlightOf(l)) {
		l.state, l.served = throttled, 0
		for _, e := range m.readyIn(l) { // its bound holds while it is not throttled (C47)
			e.wait = wait{}
		}
	}
}

// free lets a throttled line join the others if nothing blocks it any more.
func (m *model) free(l *line) { // C48
	if l.state == throttled && !l.blocked(m.inFlightOf(l)) {
		m.join(l)
	}
}

// configure takes what the user says of the group of an item that is added. A
// greater limit counts from the next Done on, and a rate from the next item on
// that is handed out.
func (m *model) configure(e *entry) { // C70
	l := m.lineOf(e)
	if !m.grouped() {
		l.weight = 1
		return
	}
	of := groupPolicies[m.policy[l.name]]
	m.weigh(l, of.Weight)
	if l.limit = of.Limit; l.limit > 0 && m.inFlightOf(l) >= l.limit {
		m.throttleIfBlocked(l)
	}
	if l.hasBucket || of.Rate.PerSecond > 0 {
		l.hasBucket, l.wanted = true, of.Rate
	}
}

// weigh begins the waits anew, which the weights bound.
func (m *model) weigh(l *line, weight int) {
	if weight = max(1, weight); l.weight != weight {
		l.weight = weight
		m.overlap()
	}
}

// adopt lets the latest rate of a line count. A bucket that was not used yet
// was perhaps forgotten at a reading that is still to come.
func (m *model) adopt(l *line) bucket { // C67
	b := l.bucket
	b.change(l.wanted, m.now)
	if b.full == longAgo && m.forgotten[l.shard] > m.now {
		b.full = m.forgotten[l.shard]
	}
	return b
}

// lacksToken reports whether a line that takes its turns has no token, which is
// so if the clock was set back, or its rate was changed.
func (m *model) lacksToken(l *line) bool {
	if !l.hasBucket {
		return false
	}
	b := m.adopt(l)
	return b.opens() > m.now
}

// spendIn takes a token of a line.
func (m *model) spendIn(l *line) { // C67
	if l.hasBucket {
		m.noteReading(l)
		l.bucket = m.adopt(l)
		l.bucket.spend(m.now, m.tick)
		m.awaitToken(l)
	}
	m.throttleIfBlocked(l)
}

// turnAway does what a Get does that finds no token in a line.
func (m *model) turnAway(l *line) { // C67
	m.noteReading(l)
	l.bucket = m.adopt(l)
	m.awaitToken(l)
	m.throttleIfBlocked(l)
}

func (m *model) awaitToken(l *line) {
	if l.bucket.opens() > m.now {
		l.noToken, l.review = true, m.tickAt(l.bucket.opens())
	}
}

// noteReading notes a reading of the clock for a group. Its shard forgets
// groups by the latest, which is earlier if the clock was set back.
func (m *model) noteReading(l *line) { m.latest[l.shard] = m.now }

// lookAgain decides again what blocks a group.
func (m *model) lookAgain(l *line) { // C68
	m.noteReading(l)
	if l.hasBucket {
		l.bucket.change(l.wanted, m.now)
		l.noToken, l.paused = l.bucket.opens() > m.now, l.until > m.now
	}
	m.throttleIfBlocked(l)
	m.free(l)
	l.review = m.nextReview(l, m.now)
	m.forgetLine(l)
}

// nextReview returns the tick at which nothing blocks a group any more, or at
// which a group without items can be forgotten.
func (m *model) nextReview(l *line, now time.Duration) time.Duration { // C67, C68
	at := time.Duration(longAgo)
	if l.noToken {
		at = l.bucket.opens()
	}
	if l.paused {
		at = max(at, l.until)
	}
	if at == longAgo && m.heldIn(l) == 0 && l.bucket.full > now {
		at = l.bucket.full
	}
	if at == longAgo {
		return endOfTime
	}
	return m.tickAt(at)
}

// leftGroup is called when an item has left the queue.
func (m *model) leftGroup(l *line) { // C67
	if !m.grouped() || m.heldIn(l) > 0 {
		return
	}
	l.hasPriorities, l.takes, l.ranks = false, 0, map[int]int{}
	if l.review = m.nextReview(l, m.latest[l.shard]); l.review <= m.now {
		m.lookAgain(l) // the driver does so at once
	}
	m.forgetLine(l)
}

// forgetLine forgets a group without items, unless its bucket is not full, or
// it is paused.
func (m *model) forgetLine(l *line) { // C67, C68
	if m.heldIn(l) == 0 && !l.noToken && !l.paused && l.bucket.full <= m.latest[l.shard] {
		if l.hasBucket {
			m.forgotten[l.shard] = max(m.forgotten[l.shard], l.bucket.full)
		}
		delete(m.lines, l.name)
	}
}

// pauseGroup pauses a group until a moment. One that has passed resumes it.
func (m *model) pauseGroup(name string, until time.Duration) { // C68
	m.moment++
	if until > m.now {
		l := m.needLine(name)
		l.shard = m.shardOfGroup(name)
	}
	if l := m.lines[name]; l != nil {
		if l.hasBucket || until > m.now {
			l.hasBucket, l.until = true, until
		}
		m.lookAgain(l)
	}
}

// refreshGroup lets count at once what the user says of a group.
func (m *model) refreshGroup(name string) { // C70
	m.moment++
	l := m.lines[name]
	if l == nil {
		return
	}
	of := groupPolicies[m.policy[name]]
	m.weigh(l, of.Weight)
	l.limit = of.Limit
	if l.hasBucket || of.Rate.PerSecond > 0 {
		l.hasBucket, l.wanted = true, of.Rate
	}
	m.lookAgain(l)
}

func (m *model) setRate(r shardq.Rate) { // C69
	m.gate.change(r, m.now)
	if m.ends.stopped {
		m.gate.rate = shardq.Rate{} // nothing would end a wait
	}
	if !m.gate.limits() {
		m.gate.full = longAgo
	}
}
