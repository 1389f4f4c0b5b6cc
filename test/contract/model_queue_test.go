package contract

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// A modelQueue is what a queue has to do, put down from docs/reference/semantics.md with slices
// and maps: no lock, no hash, no link, no wheel. It is meant to be checked by eye.
//
// It does not know the order between shards, and need not: items are in lines, those of
// a line come in their order, and which line comes next is for the queue to choose. One
// shard is one line; with Options.Hash the items of one hash are a line, and with Options.Group those of a group; otherwise each
// item is a line of its own.
type modelQueue[T comparable] struct {
	lineOf           func(item T) int
	grouped          bool // then a line is a group
	tick             time.Duration
	cancelDelayOnAdd bool

	// now is how far the clock has come from where it stood when the queue was made.
	now time.Duration
	// realTime says that the clock stands at each deadline when that comes.
	realTime bool
	// phase is "ready", "processing" or "dirty", and "" for an item that is none of
	// them. Whether an item waits is independent of it.
	phase map[T]string
	// turns counts the hand-outs of each item.
	turns map[T]int
	// lines has the ready items. Those of a tie became ready at the same tick, and
	// their order among themselves is for the queue to choose.
	lines map[int][]tie[T]
	// waiting has the deadlines of the items that wait, on the axis of now.
	waiting map[T]time.Duration
	// limits has by when the wait of an item has to end, if it has to.
	limits map[T]time.Duration
	// refusing says that adds are dropped, and closed that nothing waits any more:
	// between the two, a Drain awaits what waits.
	refusing, closed bool
	// retries says, once refusing, whether adds of items in processing are taken in. The
	// first end decides, and those that follow can only end that.
	retries bool
	// draining and drained count the drains that have not returned, and those that
	// have.
	draining, drained int
	stats             shardq.Stats // the counters of it
	reports           []shardq.Misuse[T]

	room  modelRoom[T]
	drain modelDrains[T]
	age   modelAges[T]

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
		waiting:          map[T]time.Duration{},
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

// drops reports whether an add of the item comes too late.
func (m *modelQueue[T]) drops(item T) bool {
	return m.refusing && !(m.retries && m.inProcessing(item))
}

// admit adds an item that is taken in.
func (m *modelQueue[T]) admit(item T) {
	if m.cancelDelayOnAdd {
		m.stopWaiting(item)
	}
	if m.demand(item, m.now) {
		m.queue(tie[T]{item})
		m.stamp(item, m.now)
	}
}

// stopWaiting forgets that an item waits, if it does.
func (m *modelQueue[T]) stopWaiting(item T) {
	delete(m.waiting, item)
	delete(m.limits, item)
}

func (m *modelQueue[T]) reject(item T) {
	m.stats.Rejected++
	m.report(shardq.ItemNotEqualToItself, item)
}

// demand is what an add and the end of a delay have in common. It reports whether the
// item becomes ready.
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
		m.stats.Merged++
	}
	return false
}

// queue puts items of one line at its end.
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

// plus returns a + b, for a b that is not negative. It stops at the end of time.
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
	m.fireUntil(m.now, func(deadline time.Duration) time.Duration {
		if m.realTime {
			return deadline
		}
		return m.now // a fake clock steps over the deadlines
	})
}

// fireUntil ends the delays that are over by then, tick by tick. It is told when each comes.
func (m *modelQueue[T]) fireUntil(end time.Duration, at func(deadline time.Duration) time.Duration) {
	due := map[time.Duration][]T{}
	for item, deadline := range m.waiting {
		if deadline <= end {
			due[deadline] = append(due[deadline], item)
		}
	}
	for _, deadline := range slices.Sorted(maps.Keys(due)) {
		m.fire(due[deadline], at(deadline))
	}
}

// fire ends the delays of the items of one tick.
func (m *modelQueue[T]) fire(items []T, at time.Duration) {
	ties := map[int]tie[T]{}
	for _, item := range items {
		m.stopWaiting(item)
		m.stats.Fired++
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

// take takes the item if a Get may return it: if it is the first of its line. It
// reports whether it is.
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
		delete(m.phase, item)
		m.measureEnd(item)
		m.stamp(item, m.now) // if it waits
	case "dirty":
		m.phase[item] = "ready"
		m.measureEnd(item)
		m.queue(tie[T]{item})
		m.stamp(item, m.now)
	default:
		m.stats.Misused++
		m.report(shardq.DoneWithoutGet, item)
	}
}

func (m *modelQueue[T]) report(kind shardq.MisuseKind, item T) {
	m.reports = append(m.reports, shardq.Misuse[T]{Queue: modelName, Kind: kind, Item: item})
}

// modelName is the Options.Name of the queues that are compared with a model.
const modelName = "the queue"

func (m *modelQueue[T]) shutDown() {
	m.abandon()
	m.close()
	m.drained += m.draining
	m.draining = 0
	m.endWaitingDrains()
}

func (m *modelQueue[T]) shutDownWithDrain() {
	m.abandon()
	m.close()
	m.draining++
}

// abandon ends the drains that await what is about to be dropped.
func (m *modelQueue[T]) abandon() {
	if len(m.waiting) > 0 {
		m.drain.share(slices.Collect(maps.Keys(m.waiting)))
		m.drain.end(shardq.ErrShutDown)
	}
}

// close returns the items that it dropped.
func (m *modelQueue[T]) close() (dropped []T) {
	m.refuse(false)
	m.closed = true
	return m.dropWaiting()
}

func (m *modelQueue[T]) dropWaiting() (dropped []T) {
	m.stats.Dropped += uint64(len(m.waiting))
	dropped = slices.Collect(maps.Keys(m.waiting))
	clear(m.waiting)
	clear(m.limits)
	return dropped
}

// endDrains lets the drains return if nothing is ready or in processing.
func (m *modelQueue[T]) endDrains() {
	if m.closed && len(m.phase) == 0 {
		m.drained += m.draining
		m.draining = 0
		m.drain.end(nil)
	}
}

// ready returns what Len has to.
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
	stats.Waiting = len(m.waiting)
	stats.Held = m.held()
	if m.grouped {
		stats.Groups = m.groups()
	}
	return stats
}

// groups returns of how many groups there are items.
func (m *modelQueue[T]) groups() int {
	found := map[int]bool{}
	for item := range m.phase {
		found[m.lineOf(item)] = true
	}
	for item := range m.waiting {
		found[m.lineOf(item)] = true
	}
	return len(found)
}

// earliest returns the first deadline, and whether there is one.
func (m *modelQueue[T]) earliest() (deadline time.Duration, waits bool) {
	deadline = endOfTime
	for _, d := range m.waiting {
		deadline = min(deadline, d)
	}
	return deadline, len(m.waiting) > 0
}

// until returns how far a deadline is from now.
func (m *modelQueue[T]) until(deadline time.Duration) time.Duration {
	if m.now < 0 {
		return plus(deadline, -m.now)
	}
	return deadline - m.now
}
