package shard

// A runQueue knows neither locks nor ready bits. Its methods report when it
// becomes ready or empty, and the shard publishes that.
type runQueue struct {
	fifo       fifo    // all items, or those of the served level; if empty, nothing is ready
	processing int32   // the items that were taken and are not Done
	levels     *levels // the other ready items, or nil while all priorities are 0
}

func (q *runQueue) isEmpty() bool { return q.fifo.head == 0 }

func (q *runQueue) depth() int32 {
	if q.levels == nil {
		return q.fifo.length
	}
	return q.fifo.length + q.levels.ready
}

func (q *runQueue) push(t *table, id uint32, e *entry) (becameReady bool) {
	becameReady = q.isEmpty()
	if q.levels == nil {
		t.join(&q.fifo, id, e)
	} else {
		q.file(t, q.levels.of(t.requested.run(id)), id, e)
	}
	return becameReady
}

func (q *runQueue) pull(t *table, id uint32, e *entry) (becameEmpty bool) {
	if q.levels == nil {
		t.unlink(&q.fifo, id, e)
	} else {
		q.leave(t, q.levels.of(t.requested.run(id)), id, e)
	}
	return q.isEmpty()
}

// take needs a ready entry. If passedOver is true and levels are ranked, it
// takes from the level that was passed over longest.
func (q *runQueue) take(t *table, passedOver bool) (id uint32, e *entry, priority int) {
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

func (q *runQueue) pop(t *table) (id uint32, e *entry) {
	id = q.fifo.head
	e = t.at(id)
	q.fifo.head = e.next
	q.fifo.length--
	return id, e
}

// raise does not make q empty, although the entry leaves its place.
func (q *runQueue) raise(t *table, id uint32, e *entry, priority int) {
	q.pull(t, id, e)
	t.requested.setRun(id, priority)
	t.places.renew(id)
	q.push(t, id, e)
}

func (q *runQueue) walk(t *table, visit func(id uint32) bool) (on bool) {
	if q.levels == nil {
		return t.walk(&q.fifo, visit)
	}
	if !t.walkLevel(q.levels.served, &q.fifo, visit) {
		return false
	}
	for v := range q.levels.inOrder() {
		if !t.walkLevel(v, &v.list, visit) {
			return false
		}
	}
	return true
}
