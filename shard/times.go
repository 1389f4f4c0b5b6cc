package shard

// times has the times of the items of a shard. The shard calls it for every
// step of an item. It is nil if the queue keeps no ages. Its methods then do
// nothing. The moments come from the coarse clock. Methods on the path of every
// item only test for nil and call another, so that they are inlined.
type times[T comparable] struct {
	// since has the moments at which the entries came into their states.
	since  cells[uint64]
	coarse *coarseClock
	// measures has the measures of the shard. It is nil unless metrics are
	// kept.
	measures *measures
	// waits has the moments at which the items in processing had become ready.
	// It is nil until waits are kept.
	waits *cells[uint64]
	// inFlight has the entries in processing, the oldest first.
	inFlight fifo
	// reported is the last entry that the watchdog has found, or 0.
	reported uint32
}

// newTimes returns the times of a shard's table.
func (sh *shard[T]) newTimes() *times[T] {
	t := &times[T]{coarse: &sh.set.coarse}
	if sh.set.measures != nil {
		t.measures = sh.needMeasures()
	}
	return t
}

// of returns the moment at which an entry came into its state.
func (t *times[T]) of(id uint32) uint64 { return *t.since.At(id) }

// onReady is called when an item becomes ready.
func (t *times[T]) onReady(id uint32) {
	if t != nil {
		t.restart(id)
	}
}

func (t *times[T]) restart(id uint32) { t.onDelay(id, t.coarse.now.Load()) }

// onDelay is called when an item has been delayed, and in no other state, since
// a moment.
func (t *times[T]) onDelay(id uint32, since uint64) {
	if t != nil {
		*t.since.Extend(id) = since
	}
}

// onStart is called when an item is handed out.
func (t *times[T]) onStart(s *slab[T], id uint32, e *entry[T]) {
	if t != nil {
		t.start(s, id, e)
	}
}

func (t *times[T]) start(s *slab[T], id uint32, e *entry[T]) {
	now, since := t.coarse.now.Load(), t.since.At(id)
	if t.measures != nil {
		t.measures.onStart(id, *since, now, t.coarse)
	}
	if t.coarse.keepsWaits.Load() {
		t.keepWait(s, id, *since)
	}
	*since = now
	s.join(&t.inFlight, id, e)
}

// onDirty is called when an item in processing is added.
func (t *times[T]) onDirty(id uint32) {
	if t != nil {
		t.mark(id)
	}
}

func (t *times[T]) mark(id uint32) {
	if t.measures != nil {
		t.measures.onDirty(id, t.coarse.now.Load())
	}
}

// onFinish is called when the processing of an item has ended, before the item
// joins another list.
func (t *times[T]) onFinish(s *slab[T], id uint32, e *entry[T]) {
	if t != nil {
		t.finish(s, id, e)
	}
}

func (t *times[T]) finish(s *slab[T], id uint32, e *entry[T]) {
	if t.measures != nil {
		t.measures.onFinish(t.of(id), t.coarse.now.Load(), e.phase() == ready, t.coarse)
	}
	if id == t.reported {
		if t.reported = 0; id != t.inFlight.head {
			t.reported = e.previous()
		}
	}
	s.unlink(&t.inFlight, id, e)
}

// onCancel is called when the adds of an item were canceled. what is withdraw
// or unmark.
func (t *times[T]) onCancel(id uint32, what effect) {
	if t != nil && t.measures != nil {
		t.measures.onCancel(id, what)
	}
}
