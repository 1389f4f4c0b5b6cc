package shard

import (
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
	// dirty counts the items that are to run once more after their processing.
	dirty int
	// marked has the moments at which items were added while they were in processing, by
	// their ids, until they are handed out; marks counts them.
	marked chunked.Array[uint64]
	marks  int
	// begins is the sum of the moments at which the items in processing were handed out,
	// modulo its range.
	begins uint64
	// operations counts those since the shard said that the pulse has passed.
	operations int
	// recorders is nil until there is something to record.
	recorders *recorders
}

type recorders struct{ queue, work, delay recorder }

// of returns the measures of the shard, with recorders.
func (sh *shard[T]) recorders() *recorders {
	m := sh.measures()
	if m.recorders == nil {
		m.recorders = &recorders{}
	}
	return m.recorders
}

func (sh *shard[T]) measures() *measures { return &sh.set.measures[sh.number] }

// noteMark is called when an item was added while it is in processing.
func (sh *shard[T]) noteMark(id uint32) {
	m := sh.measures()
	m.dirty++
	m.marks++
	*m.marked.Hold(id) = sh.set.pulse.now.Load()
}

// noteUnmark is called when that was taken back.
func (sh *shard[T]) noteUnmark(id uint32) {
	sh.measures().dirty--
	sh.measures().unmark(id)
}

// unmark returns the moment at which an item was marked; 0 if it was not.
func (m *measures) unmark(id uint32) (at uint64) {
	if m.marks == 0 {
		return 0
	}
	cell := m.marked.Lookup(id)
	if cell == nil || *cell == 0 {
		return 0
	}
	at, *cell = *cell, 0
	m.marked.Release(id)
	m.marks--
	return at
}

// noteBegin is called when an item is handed out that was ready since a moment.
func (sh *shard[T]) noteBegin(id uint32, since, now uint64) {
	m := sh.measures()
	if asked := m.unmark(id); asked != 0 {
		since = asked
	}
	m.begins += now
	sh.recorders().queue.record(elapsed(since, now))
	sh.countOperation()
}

// noteEnd is called when an item's processing that began at a moment is over.
func (sh *shard[T]) noteEnd(e *entry[T], since uint64) {
	m := sh.measures()
	m.begins -= since
	if e.phase() == ready {
		m.dirty--
	}
	sh.recorders().work.record(elapsed(since, sh.set.pulse.now.Load()))
	sh.countOperation()
}

// noteDelay is called when an item is to wait, or was to until now.
func (sh *shard[T]) noteDelay(asked time.Duration) { sh.recorders().delay.record(asked) }

// countOperation has the clock read again after so many operations.
func (sh *shard[T]) countOperation() {
	m := sh.measures()
	if m.operations++; m.operations >= operationsPerReading {
		m.operations = 0
		if sh.set.pulse.live.Load() != 0 {
			sh.set.pulse.live.Store(0)
		}
	}
}

// countRetry counts an add that comes with a delay or asks for one. As in client-go, it does
// so also for what waits already, and not after a shutdown.
func (s *Set[T]) countRetry(item T, d Delay) {
	if !d.Retry || s.ShuttingDown() || item != item { //nolint:staticcheck // NaN is not
		return
	}
	s.lane().retries.Add(1)
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
	metrics.Dirty += m.dirty
	if r := m.recorders; r != nil {
		r.queue.addTo(&metrics.QueueDuration)
		r.work.addTo(&metrics.WorkDuration)
		r.delay.addTo(&metrics.Delay)
	}
	together, longest := sh.inFlight(now)
	metrics.Unfinished += together
	metrics.LongestRunning = max(metrics.LongestRunning, longest)
}

// inFlight returns for how long the items in processing have been that, together, and the
// longest of them.
func (sh *shard[T]) inFlight(now uint64) (together, longest time.Duration) {
	if sh.processing == 0 {
		return 0, 0
	}
	sum := uint64(sh.processing)*now - sh.measures().begins
	return max(0, time.Duration(sum)), sh.age(sh.table.inFlight.head, now)
}

// inFlight is what Metrics says of the items in processing.
type inFlight struct{ together, longest time.Duration }

// noteEndOfUpdates is called when a shutdown begins: from then on client-go does not update
// what it says of the items in processing.
func (s *Set[T]) noteEndOfUpdates() {
	if s.measures == nil || s.ShuttingDown() {
		return
	}
	now, end := s.readAnyway(), inFlight{}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		together, longest := sh.inFlight(now)
		sh.mu.Unlock()
		end.together += together
		end.longest = max(end.longest, longest)
	}
	s.inFlightAtEnd.CompareAndSwap(nil, &end)
}

// readAnyway reads the clock, or returns the last reading if it panics: a shutdown goes on
// then, and calls the clock once more at its end.
func (s *Set[T]) readAnyway() (now uint64) {
	now = s.pulse.now.Load()
	defer func() { _ = recover() }()
	return s.time.nanoseconds()
}

// stampOf returns the driver's reading as a stamp.
func (s *Set[T]) stampOf(at reading) uint64 {
	if s.measures != nil {
		return at.nanoseconds
	}
	return at.now * s.time.tick
}
