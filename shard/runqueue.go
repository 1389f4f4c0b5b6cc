package shard

// A runQueue has the ready items of a shard, or of a group, in the order in
// which they are taken: first in, first out, and the highest priority first. It
// knows neither locks nor ready bits: its methods report when it becomes ready
// or empty, and the shard makes that known to consumers.
//
// All methods are called with the lock of the shard held.
type runQueue[T comparable] struct {
	// fifo has all items if there are no levels, and otherwise those of the
	// level that is served. If it is empty, nothing is ready.
	fifo fifo
	// processing counts the items that were taken and are not Done.
	processing int32
	// levels has what is ready beside fifo; nil while all priorities are 0.
	levels *levels
}

// isEmpty reports whether nothing is ready.
func (q *runQueue[T]) isEmpty() bool { return q.fifo.head == 0 }

// depth returns the number of ready items.
func (q *runQueue[T]) depth() int32 {
	if q.levels == nil {
		return q.fifo.length
	}
	return q.fifo.length + q.levels.ready
}

// push puts an entry last, or last of its priority. It reports whether nothing
// was ready before.
func (q *runQueue[T]) push(t *table[T], id uint32, e *entry[T]) (becameReady bool) {
	becameReady = q.isEmpty()
	if q.levels == nil {
		t.join(&q.fifo, id, e)
	} else {
		q.file(t, q.levels.of(t.wishes.run(id)), id, e)
	}
	return becameReady
}

// pull takes an entry out, from any place. It reports whether nothing is ready
// any more.
func (q *runQueue[T]) pull(t *table[T], id uint32, e *entry[T]) (becameEmpty bool) {
	if q.levels == nil {
		t.unlink(&q.fifo, id, e)
	} else {
		q.leave(t, q.levels.of(t.wishes.run(id)), id, e)
	}
	return q.isEmpty()
}

// take takes the entry out that is next, and returns its priority. Something
// has to be ready. With passedOver, the entry is of the level that was passed
// over longest, if levels are ranked.
func (q *runQueue[T]) take(t *table[T], passedOver bool) (id uint32, e *entry[T], priority int) {
	l := q.levels
	if l == nil {
		id, e = q.pop(t)
		return id, e, 0
	}
	if l.ranked {
		return q.takeFrom(t, l.next(passedOver))
	}
	priority = l.served.priority
	if id, e = q.pop(t); q.isEmpty() {
		q.serveNext()
	}
	return id, e, priority
}

// pop is take where there are no levels.
func (q *runQueue[T]) pop(t *table[T]) (id uint32, e *entry[T]) {
	id = q.fifo.head
	e = t.at(id)
	q.fifo.head = e.next
	q.fifo.length--
	return id, e
}

// raise gives another priority to a ready entry, which is the last to have it.
// What is ready stays ready, although the entry leaves its place for a moment.
func (q *runQueue[T]) raise(t *table[T], id uint32, e *entry[T], priority int) {
	q.pull(t, id, e)
	t.wishes.setRun(id, priority)
	q.push(t, id, e)
}

// walk visits the ready entries, the highest priority first, until visit
// returns false, and reports whether that did not happen.
func (q *runQueue[T]) walk(t *table[T], visit func(id uint32) bool) (on bool) {
	if !t.walk(&q.fifo, visit) {
		return false
	}
	if q.levels == nil {
		return true
	}
	for v := range q.levels.inOrder() {
		if !t.walk(&v.list, visit) {
			return false
		}
	}
	return true
}
