package shard

// times has the moments of a shard's items, from the coarse clock. It is nil if
// the queue keeps no ages. Methods on the path of every item only test for nil
// and call another, so that they are inlined.
type times[T comparable] struct {
	since    cells[uint64] // when the entries came into their states
	coarse   *coarseClock
	measures *measures      // nil unless metrics are kept
	waits    *cells[uint64] // when the items in processing had become ready, if waits are kept
	inFlight fifo           // the entries in processing, the oldest first
	reported uint32         // the last entry that the watchdog has found, or 0
}

func (sh *shard[T]) newTimes() *times[T] {
	t := &times[T]{coarse: &sh.set.coarse}
	if sh.set.measures != nil {
		t.measures = sh.needMeasures()
	}
	return t
}

func (t *times[T]) of(id uint32) uint64 { return *t.since.At(id) }

func (t *times[T]) onReady(id uint32) {
	if t != nil {
		t.restart(id)
	}
}

func (t *times[T]) restart(id uint32) { t.onDelay(id, t.coarse.now.Load()) }

func (t *times[T]) onDelay(id uint32, since uint64) {
	if t != nil {
		*t.since.Extend(id) = since
	}
}

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

// onFinish is called before the item joins another list.
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

// what is withdraw or unmark.
func (t *times[T]) onCancel(id uint32, what effect) {
	if t != nil && t.measures != nil {
		t.measures.onCancel(id, what)
	}
}
