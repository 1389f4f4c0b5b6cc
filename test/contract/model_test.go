package contract

import (
	"math"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A model does what docs/reference/semantics.md says, with maps and slices. It
// has no lock, hash, link, heap or wheel, so that a reader can check it. The
// files beside this one have a part of it each:
//
//	model_order_test.go    priorities, places, turns of groups
//	model_rate_test.go     rates, limits and pauses
//	model_time_test.go     delays, windows, what happens as time passes
//	model_end_test.go      capacity, watermarks, shutdowns, drains
//	model_measure_test.go  ages and metrics
//
// The model knows exactly what a Get may return. There is more than one such
// item if several shards have one, or if items became ready at once: by one
// tick, or because callers were admitted together.
type model struct {
	setup setup
	tick  time.Duration
	// These return the shard of an item or a group that the queue has. The hash
	// is its secret.
	locate, shardOfGroup func(name string) int

	// now is the time of the clock since the queue was made, at began.
	now   time.Duration
	began time.Time
	items map[string]*entry
	lines map[string]*line
	// moment grows from event to event. What happens at once has the same
	// moment.
	moment int
	// disordered says that consumers woke while callers were admitted. From then
	// on the model knows which items may be handed out, not their order.
	disordered bool
	// prioritized says that there was a priority other than 0.
	prioritized bool
	circles     map[[2]int]int        // by shard and priority: see circleOf
	takes       map[int]int           // by shard
	latest      map[int]time.Duration // by shard, readings of the clock
	forgotten   map[int]time.Duration // by shard, the latest full of a forgotten bucket

	gate    gate
	policy  map[string]int // by group, the number of a groupPolicy
	windows map[string]time.Duration
	limiter map[string]int // the failures of each item

	bounds  bounds
	ends    ends
	pending []*pending // the calls that have not ended

	counts   shardq.Stats // the counters of it
	misused  []string
	reported []stats.Add[string] // to OnAdd
	measured measured
}

// An entry is what is known of an item.
type entry struct {
	item  string
	phase phase
	// priority is that of the run to come, and place the moment from which on
	// the item is in line for it.
	priority, place int
	// turns counts the hand-outs of the item.
	turns    int
	canceled bool // in the present turn: no end of its claim adds it again

	delayed         bool
	backsOff        bool // the delay is a backoff that no add ends
	serves          bool // an add, which whatever ends the backoff makes ready
	deadline, limit time.Duration
	filed           int  // the moment of the call that set the deadline
	moved           bool // there was another one before
	delayPriority   int

	since time.Duration
	wait  wait
	line  string // its name, once the shard is known
	// shard is known once the item was held.
	shard int
}

// A phase is the state of an item. Whether it is delayed is independent of it.
type phase string

const (
	idle       phase = "idle"
	ready      phase = "ready"
	processing phase = "processing"
	dirty      phase = "dirty"
)

func (e *entry) held() bool     { return e.phase != idle || e.delayed }
func (e *entry) inFlight() bool { return e.phase == processing || e.phase == dirty }

// inLine reports whether a run of the item is to come.
func (e *entry) inLine() bool { return e.phase == ready || e.phase == dirty }

func newModel(s setup, tick time.Duration, locate, shardOfGroup func(name string) int) *model {
	m := &model{
		setup: s, tick: tick, locate: locate, shardOfGroup: shardOfGroup,
		items: map[string]*entry{}, lines: map[string]*line{}, circles: map[[2]int]int{}, takes: map[int]int{}, latest: map[int]time.Duration{}, forgotten: map[int]time.Duration{},
		policy: map[string]int{}, windows: map[string]time.Duration{}, limiter: map[string]int{},
		gate: gate{bucket: bucket{rate: rates[s.number("rate")], full: longAgo}},
		ends: ends{phase: queueOpen}, measured: newMeasured(),
	}
	for shard := range s.number("shards") {
		m.latest[shard], m.forgotten[shard] = longAgo, longAgo
	}
	m.counts = shardq.Stats{Shards: s.number("shards"), Capacity: s.number("capacity")}
	return m
}

// endOfTime is a deadline that the clocks of these tests do not reach, and
// longAgo a moment before all others.
const endOfTime, longAgo = math.MaxInt64, math.MinInt64 / 2

func (m *model) entry(item string) *entry {
	e := m.items[item]
	if e == nil {
		e = &entry{item: item, phase: idle, limit: endOfTime, shard: -1}
		m.items[item] = e
	}
	return e
}

// add is Add with the options of any add, except for those that [model.accept]
// and [model.file] handle. It cancels the delay of the item if asked to.
func (m *model) add(e *entry, priority int, cancelDelay, expired bool) { // C2, C3, C23
	if e.backsOff && e.phase != ready {
		m.joinBackoff(e, priority)
		return
	}
	cancelDelay = cancelDelay && !e.backsOff
	keepsPlace := m.keepsPlaces() && e.delayed && priority <= e.delayPriority
	if e.delayed && cancelDelay {
		priority = max(priority, e.delayPriority)
		m.stopDelay(e)
	}
	m.follow(e, func() {
		m.noteRequest(e, priority, m.keepsPlaces())
		switch {
		case e.inLine():
			m.counts.Deduplicated++
			m.raise(e, priority)
		default:
			m.counts.Added++
			m.measured.asked[e.item] = m.now
			if e.priority = priority; !keepsPlace {
				e.place = m.moment
			}
			m.tell(stats.Add[string]{Item: e.item, Priority: priority, Expired: expired})
			if e.phase == processing {
				e.phase = dirty
			} else {
				m.becomeReady(e)
			}
		}
	})
}

func (m *model) keepsPlaces() bool { return m.setup.is("keep places", "yes") }

// raise gives a higher priority to the run to come.
func (m *model) raise(e *entry, priority int) { // C45
	if priority <= e.priority {
		return
	}
	m.tell(stats.Add[string]{Item: e.item, Priority: priority, Raised: true, Before: e.priority})
	e.priority, e.place = priority, m.moment
	e.wait = wait{}
}

func (m *model) becomeReady(e *entry) { // C5
	if e.phase = ready; !m.keepsPlaces() {
		e.place = m.moment
	}
	e.wait = wait{}
	m.stamp(e)
}

func (m *model) tell(a stats.Add[string]) { // C64
	if m.setup.is("on add", "yes") {
		m.reported = append(m.reported, a)
	}
}

// done is Done.
func (m *model) done(item string) { // C3, C15, C63
	m.moment++
	e := m.entry(item)
	if !e.inFlight() {
		m.counts.Misused++
		m.misused = append(m.misused, item)
		return
	}
	if e.phase == dirty && m.ends.discarding {
		m.leaveLine(e)
		m.counts.Dropped++
		e.phase = processing
	}
	l := m.lineOf(e)
	m.measureEnd(e)
	m.follow(e, func() {
		again := e.phase == dirty
		e.phase = idle
		m.free(l)
		if again {
			m.becomeReady(e)
		} else {
			m.stamp(e)
		}
	})
	m.forgetIfGone(e)
}

// cancel is Cancel.
func (m *model) cancel(item string) (was shardq.Canceled) { // C39
	m.moment++
	delete(m.windows, item)
	delete(m.limiter, item)
	e := m.entry(item)
	e.canceled = e.inFlight()
	was = shardq.Canceled{Ready: e.phase == ready, Dirty: e.phase == dirty, Delayed: e.delayed}
	if !was.Any() {
		return was
	}
	m.counts.Canceled++
	m.stopDelay(e)
	m.withdraw(e)
	return was
}

// withdraw takes an item out of the line.
func (m *model) withdraw(e *entry) { // C39
	if e.inLine() {
		m.leaveLine(e)
		m.follow(e, func() {
			if e.phase == ready {
				e.phase = idle
			} else {
				e.phase = processing
			}
		})
	}
	m.forgetIfGone(e)
}

func (m *model) leaveLine(e *entry) { // C64
	m.tell(stats.Add[string]{Item: e.item, Priority: e.priority, Canceled: true})
	delete(m.measured.asked, e.item)
}

// forgetIfGone is called after an item may have left the queue.
func (m *model) forgetIfGone(e *entry) {
	if e.held() {
		return
	}
	if m.held() == 0 {
		m.ends.idle()
	}
	m.leftGroup(m.lineOf(e))
}

// take takes an item that a Get has returned with a priority, or no priority if
// it is unknown. It reports whether it may have.
func (m *model) take(item string, priority *int) bool { // C1
	e := m.entry(item)
	if e.phase != ready || priority != nil && *priority != e.priority || !m.mayTake(e) {
		return false
	}
	m.moment++
	m.gate.spend(m.now, m.tick)
	m.passBy(e)
	m.takeFrom(m.lineOf(e), e)
	m.measureBegin(e)
	e.turns++
	e.canceled = false
	return true
}

func (m *model) count(what func(e *entry) bool) (n int) {
	for _, e := range m.items {
		if what(e) {
			n++
		}
	}
	return n
}

func (m *model) held() int { return m.count((*entry).held) }

func (m *model) inPhase(phases ...phase) int {
	return m.count(func(e *entry) bool {
		for _, p := range phases {
			if e.phase == p {
				return true
			}
		}
		return false
	})
}

// stats returns what Stats has to say, as far as the model knows.
func (m *model) stats() shardq.Stats { // C6
	s := m.counts
	s.Ready, s.Processing = m.inPhase(ready), m.inPhase(processing, dirty)
	s.Delayed, s.Held = m.count(func(e *entry) bool { return e.delayed }), m.held()
	s.ShuttingDown = m.ends.phase != queueOpen
	s.Paused = m.gate.paused
	for _, l := range m.lines {
		if !m.grouped() {
			break
		}
		if m.heldIn(l) > 0 {
			s.Groups++
		}
		if l.state == throttled {
			s.Throttled++
			switch m.reason(l) {
			case stats.ThrottledByPause:
				s.ThrottledByPause++
			case stats.ThrottledByRate:
				s.ThrottledByRate++
			}
		}
	}
	return s
}
