package contract

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A modelQueue does what docs/reference/semantics.md says, with slices and
// maps. It has no lock, hash, link or wheel, so that a reader can check it.
//
// It does not know the order between shards. Items are in lines. The items of a
// line are handed out in their order, and the queue chooses the next line. One
// shard is one line. With Options.Hash the items of one hash are a line, and
// with Options.Group those of a group. Otherwise each item is a line of its
// own.
type modelQueue[T comparable] struct {
	lineOf           func(item T) int
	grouped          bool // then a line is a group
	tick             time.Duration
	cancelDelayOnAdd bool

	// now is the time of the clock since the queue was made.
	now time.Duration
	// realTime says that the clock shows the deadline when a delay expires.
	realTime bool
	// phase is "ready", "processing" or "dirty", and "" for an item that is
	// none of them. Whether an item is delayed is independent of it.
	phase map[T]string
	// turns counts the hand-outs of each item.
	turns map[T]int
	// lines has the ready items. Those of a tie became ready at the same tick,
	// and the queue chooses their order.
	lines map[int][]tie[T]
	// delayed has the deadlines of the delayed items, on the axis of now.
	delayed map[T]time.Duration
	// limits has the times by which delays must expire, of items with a
	// MaxWait.
	limits map[T]time.Duration
	// refusing says that adds are dropped, and closed that nothing is delayed
	// any more. Between the two, a Drain awaits delayed items.
	refusing, closed bool
	// retries says, while refusing, that adds of items in processing are
	// accepted. The first end decides, and later ones can only stop that.
	retries bool
	// draining and drained count the calls of ShutDownWithDrain that have not
	// returned, and those that have.
	draining, drained int
	stats             shardq.Stats // the counters of it
	reports           []shardq.Misuse[T]

	bounds modelBounds[T]
	drain  modelDrains[T]
	age    modelAges[T]

	measured modelMetrics[T]
}

type tie[T comparable] []T

func newModelQueue[T comparable](shards int, tick time.Duration, cancelDelayOnAdd bool, lineOf func(T) int) *modelQueue[T] {
	return &modelQueue[T]{
		lineOf:           lineOf,
		tick:             tick,
		cancelDelayOnAdd: cancelDelayOnAdd,
		phase:            map[T]string{},
		turns:            map[T]int{},
		lines:            map[int][]tie[T]{},
		delayed:          map[T]time.Duration{},
		limits:           map[T]time.Duration{},
		age:              modelAges[T]{since: map[T]time.Duration{}},
		measured:         newModelMetrics[T](),
		stats:            shardq.Stats{Shards: shards},
	}
}

func (m *modelQueue[T]) add(item T) {
	switch {
	case item != item:
		m.reject(item)
	case m.drops(item):
		m.stats.Dropped++
	default:
		m.enter(item)
		m.admit(item)
	}
}

// drops reports whether an add of the item is dropped.
func (m *modelQueue[T]) drops(item T) bool {
	return m.refusing && !(m.retries && m.inProcessing(item))
}

// admit adds an item.
func (m *modelQueue[T]) admit(item T) {
	if m.cancelDelayOnAdd {
		m.stopDelay(item)
	}
	if m.demand(item, m.now) {
		m.queue(tie[T]{item})
		m.stamp(item, m.now)
	}
}

// stopDelay cancels the delay of an item, if there is one.
func (m *modelQueue[T]) stopDelay(item T) {
	delete(m.delayed, item)
	delete(m.limits, item)
}

func (m *modelQueue[T]) reject(item T) {
	m.stats.Rejected++
	m.report(shardq.ItemNotEqualToItself, item)
}

// demand is the common part of an add and an expired delay. It reports whether
// the item becomes ready.
func (m *modelQueue[T]) demand(item T, at time.Duration) bool {
	switch m.phase[item] {
	case "":
		m.stats.Added++
		m.phase[item] = "ready"
		m.measured.asked[item] = at
		return true
	case "processing":
		m.stats.Added++
		m.phase[item] = "dirty"
		m.measured.asked[item] = at
	default:
		m.stats.Deduplicated++
	}
	return false
}

// queue appends items of one line to it.
func (m *modelQueue[T]) queue(items tie[T]) {
	line := m.lineOf(items[0])
	m.lines[line] = append(m.lines[line], items)
}

func (m *modelQueue[T]) addAfter(item T, delay time.Duration) {
	m.countRetry(item)
	m.addWith(item, shardq.AddOptions{After: delay})
}

// endOfTime is a deadline that the clocks of these tests do not reach.
const endOfTime = math.MaxInt64

// deadline returns the first tick at or after delay from now.
func (m *modelQueue[T]) deadline(delay time.Duration) time.Duration {
	end := plus(m.now, delay)
	if beyond := (end%m.tick + m.tick) % m.tick; beyond > 0 {
		end = plus(end, m.tick-beyond)
	}
	return end
}

// plus returns a + b, at most endOfTime. b must not be negative.
func plus(a, b time.Duration) time.Duration {
	if a > endOfTime-b {
		return endOfTime
	}
	return a + b
}

// pass lets time pass, backward if d is negative.
func (m *modelQueue[T]) pass(d time.Duration) {
	m.now += d
	m.age.vague = m.age.vague || d < 0
	m.expireUntil(m.now, func(deadline time.Duration) time.Duration {
		if m.realTime {
			return deadline
		}
		return m.now // a fake clock skips the deadlines
	})
}

// expireUntil lets the delays expire whose deadlines are not after end, tick by
// tick. at returns the time at which one expires.
func (m *modelQueue[T]) expireUntil(end time.Duration, at func(deadline time.Duration) time.Duration) {
	due := map[time.Duration][]T{}
	for item, deadline := range m.delayed {
		if deadline <= end {
			due[deadline] = append(due[deadline], item)
		}
	}
	for _, deadline := range slices.Sorted(maps.Keys(due)) {
		m.expire(due[deadline], at(deadline))
	}
}

// expire lets the delays of the items of one tick expire.
func (m *modelQueue[T]) expire(items []T, at time.Duration) {
	ties := map[int]tie[T]{}
	for _, item := range items {
		m.stopDelay(item)
		m.stats.Expired++
		if m.demand(item, at) {
			m.stamp(item, at)
			line := m.lineOf(item)
			ties[line] = append(ties[line], item)
		}
	}
	for _, items := range ties {
		m.queue(items)
	}
}

// take takes the item if it is the first of its line, so that a Get may return
// it. It reports whether it is.
func (m *modelQueue[T]) take(item T) bool {
	line := m.lineOf(item)
	if len(m.lines[line]) == 0 {
		return false
	}
	first := &m.lines[line][0]
	at := slices.Index(*first, item)
	if at < 0 {
		return false
	}
	*first = slices.Delete(*first, at, at+1)
	if len(*first) == 0 {
		m.lines[line] = m.lines[line][1:]
	}
	m.phase[item] = "processing"
	m.turns[item]++
	return true
}

func (m *modelQueue[T]) done(item T) {
	switch m.phase[item] {
	case "processing":
		m.stats.Done++
		delete(m.phase, item)
		m.measureEnd(item)
		m.stamp(item, m.now) // if it is delayed
	case "dirty":
		m.stats.Done++
		m.phase[item] = "ready"
		m.measureEnd(item)
		m.queue(tie[T]{item})
		m.stamp(item, m.now)
	default:
		m.stats.Misused++
		m.report(shardq.DoneWithoutGet, item)
	}
}

func (m *modelQueue[T]) report(kind stats.MisuseKind, item T) {
	m.reports = append(m.reports, shardq.Misuse[T]{Queue: modelName, Kind: kind, Item: item})
}

// modelName is the Options.Name of queues that have a model.
const modelName = "the queue"

func (m *modelQueue[T]) shutDown() {
	m.abandon()
	m.close()
	m.drained += m.draining
	m.draining = 0
	m.endPendingDrains()
}

func (m *modelQueue[T]) shutDownWithDrain() {
	m.abandon()
	m.close()
	m.draining++
}

// abandon ends the drains that await items which are about to be dropped.
func (m *modelQueue[T]) abandon() {
	if len(m.delayed) > 0 {
		m.drain.share(slices.Collect(maps.Keys(m.delayed)))
		m.drain.end(shardq.ErrShutDown)
	}
}

// close ends the queue, and returns the items that it dropped.
func (m *modelQueue[T]) close() (dropped []T) {
	m.refuse(false)
	m.closed = true
	return m.dropDelayed()
}

func (m *modelQueue[T]) dropDelayed() (dropped []T) {
	m.stats.Dropped += uint64(len(m.delayed))
	dropped = slices.Collect(maps.Keys(m.delayed))
	clear(m.delayed)
	clear(m.limits)
	return dropped
}

// endDrains ends the drains if nothing is ready or in processing.
func (m *modelQueue[T]) endDrains() {
	if m.closed && len(m.phase) == 0 {
		m.drained += m.draining
		m.draining = 0
		m.drain.end(nil)
	}
}

// ready returns the depth.
func (m *modelQueue[T]) ready() (n int) {
	for _, line := range m.lines {
		for _, tie := range line {
			n += len(tie)
		}
	}
	return n
}

func (m *modelQueue[T]) statsNow() shardq.Stats {
	stats := m.stats
	stats.Ready = m.ready()
	stats.Processing = len(m.phase) - stats.Ready // the dirty ones are, too
	stats.Delayed = len(m.delayed)
	stats.Held = m.held()
	if m.grouped {
		stats.Groups = m.groups()
	}
	return stats
}

// groups returns the number of groups that have items.
func (m *modelQueue[T]) groups() int {
	found := map[int]bool{}
	for item := range m.phase {
		found[m.lineOf(item)] = true
	}
	for item := range m.delayed {
		found[m.lineOf(item)] = true
	}
	return len(found)
}

// earliest returns the first deadline, and whether there is one.
func (m *modelQueue[T]) earliest() (deadline time.Duration, waits bool) {
	deadline = endOfTime
	for _, d := range m.delayed {
		deadline = min(deadline, d)
	}
	return deadline, len(m.delayed) > 0
}

// until returns the time from now to a deadline.
func (m *modelQueue[T]) until(deadline time.Duration) time.Duration {
	if m.now < 0 {
		return plus(deadline, -m.now)
	}
	return deadline - m.now
}
