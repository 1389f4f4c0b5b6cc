package shard

import (
	"math"
	"time"

	"github.com/shardq/shardq/internal/chunked"
)

// measures is what a shard counts and measures beside, if metrics are kept. All is done under
// the shard's lock, which is held anyway, and read when somebody asks: nothing is pushed.
//
// How long an item was asked for before it was handed out is counted from its stamp, since
// when it is ready; unless it was added while it was in processing: then it is counted from
// there, as client-go does it, and that moment stands in a column of its own.
type measures struct {
	// begins is the sum of the moments at which the items in processing were handed out,
	// modulo its range.
	begins      uint64
	queue, work recorder
	// marks counts the items that marked has.
	marks int32
	// untilReading is how many Gets and Dones there are before the next reading of the clock.
	untilReading int32
	// dirty counts the items that are to run once more after their processing.
	dirty int
	delay recorder
	// marked has the moments at which items were added while they were in processing, by
	// their ids, until they are handed out.
	marked chunked.Array[uint64]
}

func (sh *shard[T]) measures() *measures { return sh.set.measures[sh.number] }

// needMeasures returns the shard's measures, which outlive its table.
func (sh *shard[T]) needMeasures() *measures {
	if sh.measures() == nil {
		sh.set.measures[sh.number] = &measures{}
	}
	return sh.measures()
}

// onStart is called when an item is handed out that is ready since a moment.
func (m *measures) onStart(id uint32, ready, now uint64, p *pulse) {
	asked := ready
	if m.marks > 0 {
		asked = m.askedAt(id, ready)
	}
	m.queue.record(asked, now)
	m.begins += now
	m.countDown(p)
}

// onFinish is called when a processing has ended that began at a moment.
func (m *measures) onFinish(began, now uint64, wasDirty bool, p *pulse) {
	m.begins -= began
	m.work.record(began, now)
	if wasDirty {
		m.dirty--
	}
	m.countDown(p)
}

// onDirty is called when an item was added while it is in processing.
func (m *measures) onDirty(id uint32, now uint64) {
	m.dirty++
	m.marks++
	*m.marked.Hold(id) = now
}

// onCancel is called when that was taken back, or when an item is canceled that is
// ready, and may have been dirty before.
func (m *measures) onCancel(id uint32, what effect) {
	if what == unmark {
		m.dirty--
	}
	m.unmark(id)
}

// countDown counts the Gets and Dones until the next reading of the clock.
func (m *measures) countDown(p *pulse) {
	if m.untilReading--; m.untilReading <= 0 {
		m.askForReading(p)
	}
}

// unmark returns the moment at which an item was marked; 0 if it was not.
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

// askForReading has the next operation read the clock, if the others are to find its reading,
// and counts anew. The number is odd, lest it be the Dones for ever that are followed by a reading, or the
// Gets: what time has passed since the one before goes to what ends with the reading.
func (m *measures) askForReading(p *pulse) {
	m.untilReading = int32(p.crowd.interval.Load() | 1)
	p.pass()
}

// dropMarks gives the column back, of a shard that holds nothing.
func (sh *shard[T]) dropMarks() {
	if sh.set.measures != nil && sh.measures() != nil {
		sh.measures().marked = chunked.Array[uint64]{}
	}
}

// askedAt returns since when an item that is handed out was asked for: since it was marked, or
// else since it is ready.
func (m *measures) askedAt(id uint32, ready uint64) uint64 {
	if marked := m.unmark(id); marked != 0 {
		return marked
	}
	return ready
}

// countRetryOf counts an add that comes with a delay or asks for one. As in client-go, it does
// so also for what waits already, and not after a shutdown.
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

// CountBackOff counts a delay that the limiter was asked for, unless a shutdown has begun.
func (s *Set[T]) CountBackOff() {
	if s.measures != nil && !s.ShuttingDown() {
		s.lane().backedOff.Add(1)
	}
}

// newMetrics returns what is counted without a lock.
func (s *Set[T]) newMetrics() *Metrics {
	m := &Metrics{QueueDuration: newHistogram(), WorkDuration: newHistogram(), Delay: newHistogram()}
	for i := range s.lanes {
		m.Retries += s.lanes[i].retries.Load()
		m.BackedOff += s.lanes[i].backedOff.Load()
	}
	return m
}

// addMeasuresTo adds the shard's part to the metrics.
func (sh *shard[T]) addMeasuresTo(metrics *Metrics, now uint64) {
	m := sh.measures()
	if m == nil {
		return
	}
	metrics.Dirty += m.dirty
	m.queue.addTo(&metrics.QueueDuration)
	m.work.addTo(&metrics.WorkDuration)
	m.delay.addTo(&metrics.Delay)
	together, longest := sh.inFlight(now)
	metrics.Unfinished = bounded(metrics.Unfinished, together)
	metrics.LongestRunning = max(metrics.LongestRunning, longest)
}

// inFlight returns for how long the items in processing have been that, together, and the
// longest of them.
func (sh *shard[T]) inFlight(now uint64) (together, longest time.Duration) {
	if sh.processing() == 0 {
		return 0, 0
	}
	together = time.Duration(uint64(sh.processing())*now - sh.measures().begins)
	longest = sh.age(sh.table.times.inFlight.head, now)
	if together < 0 && float64(sh.processing())*float64(longest) >= math.MaxInt64 {
		together = math.MaxInt64 // a million items in some hours
	}
	return max(longest, together), longest // less than 0 if the clock was set back
}

// bounded returns the sum of two durations, or the longest duration if that is less.
func bounded(a, b time.Duration) time.Duration {
	return time.Duration(boundedSum(uint64(a), uint64(b)))
}

// inFlight is what Metrics says of the items in processing.
type inFlight struct{ together, longest time.Duration }

// noteEndOfUpdates is called when a shutdown begins: from then on client-go does not update
// what it says of the items in processing.
func (s *Set[T]) noteEndOfUpdates() {
	if s.measures == nil || s.ShuttingDown() {
		return
	}
	now, end := s.presentAnyway(), inFlight{}
	for sh := range s.made() {
		sh.mu.Lock()
		together, longest := sh.inFlight(sh.seen(now))
		sh.mu.Unlock()
		end.together = bounded(end.together, together)
		end.longest = max(end.longest, longest)
	}
	s.inFlightAtEnd.CompareAndSwap(nil, &end)
}

// A present is a reading of the clock by somebody who is about to look into the shards, and what
// the pulse was before.
type present struct{ now, pulse uint64 }

// present reads the clock: hold no lock.
func (s *Set[T]) present() present {
	pulse := s.pulse.now.Load()
	return present{s.time.nanoseconds(), pulse}
}

// presentAnyway is present, or the last reading if the clock panics: a shutdown goes on then, and calls the
// clock once more at its end.
func (s *Set[T]) presentAnyway() (now present) {
	now.now = s.pulse.now.Load()
	now.pulse = now.now
	defer func() { _ = recover() }()
	return s.present()
}

// seen returns the moment at which somebody looks into the shard, under its lock. What was
// handed out since the clock was read has a stamp of a later reading, which would be taken off
// what the others add to the time in flight.
func (sh *shard[T]) seen(by present) uint64 {
	if pulse := sh.set.pulse.now.Load(); pulse != by.pulse {
		return max(by.now, pulse)
	}
	return by.now
}

// stampOf returns the driver's reading as a stamp.
func (s *Set[T]) stampOf(at reading) uint64 {
	if s.measures != nil {
		return at.nanoseconds
	}
	return at.now * s.time.tick
}
