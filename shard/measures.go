package shard

import (
	"math"
	"time"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/stats"
)

// measures are the counts and durations of a shard. They change under its lock,
// and are read on request. The queue duration of an item begins when it became
// ready or, as in client-go, with the add during its previous processing.
type measures struct {
	// begins is the sum of the moments at which the items in processing were
	// handed out, modulo its range.
	begins       uint64
	queue, work  stats.Recorder
	marks        int32 // the items in marked
	untilReading int32 // Gets and Dones before the next reading of the clock
	dirty        int   // the dirty items
	delay        stats.Recorder
	// marked has the moments at which items in processing were added, until
	// they are handed out.
	marked chunked.Array[uint64]
}

func (sh *shard[T]) measures() *measures { return sh.set.measures[sh.number] }

func (sh *shard[T]) needMeasures() *measures {
	if sh.measures() == nil {
		sh.set.measures[sh.number] = &measures{}
	}
	return sh.measures()
}

func (m *measures) onStart(id uint32, ready, now uint64, c *coarseClock) {
	asked := ready
	if m.marks > 0 {
		asked = m.askedAt(id, ready)
	}
	m.queue.Record(asked, now)
	m.begins += now
	m.countDown(c)
}

func (m *measures) onFinish(began, now uint64, wasDirty bool, c *coarseClock) {
	m.begins -= began
	m.work.Record(began, now)
	if wasDirty {
		m.dirty--
	}
	m.countDown(c)
}

func (m *measures) onDirty(id uint32, now uint64) {
	m.dirty++
	m.marks++
	*m.marked.Hold(id) = now
}

// onCancel: a ready item may have been dirty before.
func (m *measures) onCancel(id uint32, what effect) {
	if what == unmark {
		m.dirty--
	}
	m.unmark(id)
}

func (m *measures) countDown(c *coarseClock) {
	if m.untilReading--; m.untilReading <= 0 {
		m.askForReading(c)
	}
}

func (m *measures) unmark(id uint32) (at uint64) {
	cell := m.marked.Lookup(id)
	if cell == nil || *cell == 0 {
		return 0
	}
	at, *cell = *cell, 0
	m.marked.Release(id)
	m.marks--
	return at
}

// askForReading makes the next operation read the clock. The next count is odd,
// so that readings follow Gets and Dones in turn: the time since the previous
// reading counts for what ends with the reading.
func (m *measures) askForReading(c *coarseClock) {
	m.untilReading = int32(c.sampler.interval.Load() | 1)
	c.invalidate()
}

func (sh *shard[T]) dropMarks() {
	if sh.set.measures != nil && sh.measures() != nil {
		sh.measures().marked = chunked.Array[uint64]{}
	}
}

func (m *measures) askedAt(id uint32, ready uint64) uint64 {
	if marked := m.unmark(id); marked != 0 {
		return marked
	}
	return ready
}

// countRetryOf counts as client-go does: also an add of a delayed item, and
// nothing after a shutdown.
func (s *Set[T]) countRetryOf(item T, d Delay) {
	if d.Retry && item == item { //nolint:staticcheck // NaN is not
		s.countRetry()
	}
}

func (s *Set[T]) countRetry() {
	if !s.ShuttingDown() {
		s.lane().retries.Add(1)
	}
}

// CountBackoff counts a delay that the limiter was asked for.
func (s *Set[T]) CountBackoff() {
	if s.measures != nil && !s.ShuttingDown() {
		s.lane().backoffs.Add(1)
	}
}

func (s *Set[T]) newMetrics() *stats.Metrics {
	m := &stats.Metrics{}
	for i := range s.lanes {
		m.Retries += s.lanes[i].retries.Load()
		m.Backoffs += s.lanes[i].backoffs.Load()
	}
	return m
}

func (sh *shard[T]) addMeasuresTo(metrics *stats.Metrics, now uint64) {
	m := sh.measures()
	if m == nil {
		return
	}
	metrics.Dirty += m.dirty
	m.queue.AddTo(&metrics.QueueDuration)
	m.work.AddTo(&metrics.WorkDuration)
	m.delay.AddTo(&metrics.Delay)
	together, longest := sh.inFlight(now)
	metrics.Unfinished = stats.Sum(metrics.Unfinished, together)
	metrics.LongestRunning = max(metrics.LongestRunning, longest)
}

// inFlight returns how long the items in processing have been so, added
// together, and the time of the longest.
func (sh *shard[T]) inFlight(now uint64) (together, longest time.Duration) {
	if sh.processing() == 0 {
		return 0, 0
	}
	together = time.Duration(uint64(sh.processing())*now - sh.measures().begins)
	longest = sh.age(sh.table.times.inFlight.head, now)
	if together < 0 && float64(sh.processing())*float64(longest) >= math.MaxInt64 {
		together = math.MaxInt64 // a million items in some hours
	}
	return max(longest, together), longest // together may be negative if the clock was set back
}

type inFlight struct{ together, longest time.Duration }

// noteEndOfUpdates freezes what metrics report of the items in processing when
// a shutdown begins, as client-go does.
func (s *Set[T]) noteEndOfUpdates() {
	if s.measures == nil || s.ShuttingDown() {
		return
	}
	now, end := s.presentAnyway(), inFlight{}
	for sh := range s.made() {
		sh.mu.Lock()
		together, longest := sh.inFlight(sh.seen(now))
		sh.mu.Unlock()
		end.together = stats.Sum(end.together, together)
		end.longest = max(end.longest, longest)
	}
	s.inFlightAtEnd.CompareAndSwap(nil, &end)
}

// A present is a reading of the clock, and the coarse clock's before that.
type present struct{ now, before uint64 }

// present reads the clock. No lock must be held.
func (s *Set[T]) present() present {
	before := s.coarse.now.Load()
	return present{s.time.nanoseconds(), before}
}

// presentAnyway lets a shutdown go on if the clock panics.
func (s *Set[T]) presentAnyway() (now present) {
	now.now = s.coarse.now.Load()
	now.before = now.now
	defer func() { _ = recover() }()
	return s.present()
}

// seen corrects a reading of the clock: an item handed out since has a later
// stamp, and would reduce the time in flight of the others.
func (sh *shard[T]) seen(by present) uint64 {
	if now := sh.set.coarse.now.Load(); now != by.before {
		return max(by.now, now)
	}
	return by.now
}

func (s *Set[T]) stampOf(at reading) uint64 {
	if s.measures != nil {
		return at.nanoseconds
	}
	return at.now * s.time.tick
}
