package shard

import (
	"cmp"
	"math"
	"time"

	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/ticks"
	"github.com/shardq/shardq/stats"
)

// measures are the counts and durations of a shard. They change under its lock,
// and are read on request. The queue duration of an item begins when it became
// ready or, as in client-go, with the add during its previous processing.
type measures struct {
	begins       uint64 // the sum of the moments at which the items in processing were handed out, modulo its range
	queue, work  stats.Recorder
	marks        int32 // the items in marked
	untilReading int32 // Gets and Dones before the next reading of the clock
	dirty        int   // the dirty items
	delay        stats.Recorder
	marked       chunked.Array[uint64] // when items in processing were added, until they are handed out
}

func (sh *shard) measures() *measures { return sh.set.measures[sh.number] }

func (sh *shard) needMeasures() *measures {
	if sh.measures() == nil {
		sh.set.measures[sh.number] = &measures{}
	}
	return sh.measures()
}

func (m *measures) onStart(id uint32, ready, now uint64, c *ticks.Coarse) {
	asked := ready
	if m.marks > 0 {
		asked = cmp.Or(m.unmark(id), ready)
	}
	m.queue.Record(asked, now)
	m.begins += now
	m.countDown(c)
}

func (m *measures) onFinish(began, now uint64, wasDirty bool, c *ticks.Coarse) {
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
	*chunked.Hold(&m.marked, id) = now
}

// onCancel: a ready item, too, has a mark if it was dirty before.
func (m *measures) onCancel(id uint32, what items.Effect) {
	if what == items.Unmark {
		m.dirty--
	}
	m.unmark(id)
}

func (m *measures) countDown(c *ticks.Coarse) {
	if m.untilReading--; m.untilReading <= 0 {
		m.askForReading(c)
	}
}

func (m *measures) unmark(id uint32) (at uint64) {
	cell := chunked.Lookup(&m.marked, id)
	if cell == nil || *cell == 0 {
		return 0
	}
	at, *cell = *cell, 0
	chunked.Release(&m.marked, id)
	m.marks--
	return at
}

// askForReading makes the next operation read the clock. The next count is odd,
// so that readings follow Gets and Dones in turn: the time since the previous
// reading counts for what ends with the reading.
func (m *measures) askForReading(c *ticks.Coarse) {
	m.untilReading = int32(c.Sampler.Interval.Load() | 1)
	c.Invalidate()
}

func (sh *shard) dropMarks() {
	if sh.set.measures != nil && sh.measures() != nil {
		sh.measures().marked = chunked.Array[uint64]{}
	}
}

// countRetry counts as client-go does: adds with a delay, until a shutdown
// begins.
func (s *Core) countRetry() {
	if s.measures != nil && !s.ShuttingDown() {
		s.shards.lane().retries.Add(1)
	}
}

// CountBackoff counts a delay that the limiter was asked for.
func (s *Core) CountBackoff() {
	if s.measures != nil && !s.ShuttingDown() {
		s.shards.lane().backoffs.Add(1)
	}
}

func (l *lanes) metrics() *stats.Metrics {
	m := &stats.Metrics{}
	for i := range l.all {
		m.Retries += l.all[i].retries.Load()
		m.Backoffs += l.all[i].backoffs.Load()
	}
	return m
}

func (sh *shard) addMeasuresTo(metrics *stats.Metrics, now uint64) {
	m := sh.measures()
	if m == nil {
		return
	}
	metrics.Dirty += m.dirty
	m.queue.AddTo(&metrics.QueueDuration)
	m.work.AddTo(&metrics.WorkDuration)
	m.delay.AddTo(&metrics.Delay)
	sh.addInFlightTo(metrics, now)
}

func (sh *shard) addInFlightTo(metrics *stats.Metrics, now uint64) {
	if sh.line.Processing() == 0 {
		return
	}
	together := time.Duration(uint64(sh.line.Processing())*now - sh.measures().begins)
	longest := sh.age(sh.table.times.inFlight.Head, now)
	if together < 0 && float64(sh.line.Processing())*float64(longest) >= math.MaxInt64 {
		together = math.MaxInt64 // a million items in some hours
	}
	together = max(longest, together) // it may be negative if the clock was set back
	metrics.Unfinished = stats.Sum(metrics.Unfinished, together)
	metrics.LongestRunning = max(metrics.LongestRunning, longest)
}

// noteEndOfUpdates freezes metrics at a shutdown, as client-go does.
func (s *Core) noteEndOfUpdates() {
	if s.measures == nil || s.ShuttingDown() {
		return
	}
	now, end := s.presentAnyway(), stats.Metrics{}
	for sh := range s.shards.made() {
		sh.lock()
		sh.addInFlightTo(&end, sh.seen(now))
		sh.unlock()
	}
	s.inFlightAtEnd.CompareAndSwap(nil, &end)
}

// A present is a reading of the clock, and what the coarse clock showed before
// it.
type present struct{ now, before uint64 }

// present reads the clock. No lock must be held.
func (s *Core) present() present {
	before := s.coarse.Now.Load()
	return present{s.time.Nanoseconds(), before}
}

// presentAnyway lets a shutdown go on if the clock panics.
func (s *Core) presentAnyway() (now present) {
	now.now = s.coarse.Now.Load()
	now.before = now.now
	defer func() { _ = recover() }()
	return s.present()
}

// seen corrects a reading of the clock: an item handed out since has a later
// stamp, and would reduce the time in flight of the others.
func (sh *shard) seen(by present) uint64 {
	if now := sh.set.coarse.Now.Load(); now != by.before {
		return max(by.now, now)
	}
	return by.now
}

// times has the moments of a shard's items, from the coarse clock. It is nil if
// the queue keeps no ages, for which hot code tests before it calls a method.
type times struct {
	since    chunked.Array[uint64] // when the entries came into their states
	coarse   *ticks.Coarse
	measures *measures              // nil unless metrics are kept
	waits    *chunked.Array[uint64] // when the items in processing had become ready, if waits are kept
	inFlight items.List             // the entries in processing, the oldest first
	reported uint32                 // the last entry that the watchdog has found, or 0
}

func (t *times) of(id uint32) uint64 { return *chunked.At(&t.since, id) }

func (t *times) set(id uint32, since uint64) { *chunked.Extend(&t.since, id) = since }

func (t *times) start(s *items.Table, id uint32, e *items.Entry) {
	now, since := t.coarse.Now.Load(), chunked.At(&t.since, id)
	if t.measures != nil {
		t.measures.onStart(id, *since, now, t.coarse)
	}
	if t.coarse.KeepsWaits.Load() {
		t.keepWait(s, id, *since)
	}
	*since = now
	s.Join(&t.inFlight, id, e)
}

func (t *times) mark(id uint32) {
	if t.measures != nil {
		t.measures.onDirty(id, t.coarse.Now.Load())
	}
}

// finish is called before the item joins another list.
func (t *times) finish(s *items.Table, id uint32, e *items.Entry) {
	if t.measures != nil {
		t.measures.onFinish(t.of(id), t.coarse.Now.Load(), e.Phase() == items.Ready, t.coarse)
	}
	if id == t.reported {
		if t.reported = 0; id != t.inFlight.Head {
			t.reported = e.Previous()
		}
	}
	s.Unlink(&t.inFlight, id, e)
}

func (t *times) onCancel(id uint32, what items.Effect) {
	if t != nil && t.measures != nil {
		t.measures.onCancel(id, what)
	}
}

func (sh *shard) age(id uint32, now uint64) time.Duration {
	if id == 0 {
		return 0
	}
	return ticks.Elapsed(sh.table.times.of(id), now)
}

func (t *times) keepWait(s *items.Table, id uint32, ready uint64) {
	if t.waits == nil {
		t.waits = &chunked.Array[uint64]{}
		items.AddColumn(s, t.waits)
	}
	*chunked.Extend(t.waits, id) = ready
}
