package shard

// times has the times of the items of a shard, and is told of all that happens
// to them. It is nil if the queue keeps no ages: then its methods do nothing.
// They are called with the lock of the shard held, and the moment comes from
// the pulse. Those on the way of every item only ask for nil, so that they are
// inlined, and call another.
type times[T comparable] struct {
	// since has the moments since when the entries are in their states.
	since cells[uint64]
	pulse *pulse
	// measures has what is measured with the times; nil if nothing is.
	measures *measures
	// inFlight has the entries in processing, the oldest first.
	inFlight fifo
	// told is the last of those that the watchdog has told of; 0 if there is
	// none.
	told uint32
}

// newTimes returns the times of a shard's table.
func (sh *shard[T]) newTimes() *times[T] {
	t := &times[T]{pulse: &sh.set.pulse}
	if sh.set.measures != nil {
		t.measures = sh.needMeasures()
	}
	return t
}

// of returns since when an entry is in its state.
func (t *times[T]) of(id uint32) uint64 { return *t.since.At(id) }

// onReady is called when an item becomes ready.
func (t *times[T]) onReady(id uint32) {
	if t != nil {
		t.restart(id)
	}
}

func (t *times[T]) restart(id uint32) { t.onWait(id, t.pulse.now.Load()) }

// onWait is called when an item waits, and is in no other state, since a
// moment.
func (t *times[T]) onWait(id uint32, since uint64) {
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
	now, since := t.pulse.now.Load(), t.since.At(id)
	if t.measures != nil {
		t.measures.onStart(id, *since, now, t.pulse)
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
		t.measures.onDirty(id, t.pulse.now.Load())
	}
}

// onFinish is called when the processing of an item has ended, before the item
// comes into another list.
func (t *times[T]) onFinish(s *slab[T], id uint32, e *entry[T]) {
	if t != nil {
		t.finish(s, id, e)
	}
}

func (t *times[T]) finish(s *slab[T], id uint32, e *entry[T]) {
	if t.measures != nil {
		t.measures.onFinish(t.of(id), t.pulse.now.Load(), e.phase() == ready, t.pulse)
	}
	if id == t.told {
		if t.told = 0; id != t.inFlight.head {
			t.told = e.previous()
		}
	}
	s.unlink(&t.inFlight, id, e)
}

// onCancel is called when the adds of an item were taken back, with what that
// means for the item: withdraw or unmark.
func (t *times[T]) onCancel(id uint32, what effect) {
	if t != nil && t.measures != nil {
		t.measures.onCancel(id, what)
	}
}
