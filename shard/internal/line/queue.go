package line

import "github.com/shardq/shardq/shard/internal/items"

// A queue has the ready items of a shard, or of a group.
type queue struct {
	fifo       items.List // all items, or those of the served level; if empty, nothing is ready
	processing int32      // the items that were taken and are not finished
	levels     *levels    // the other ready items, or nil while all priorities are 0
}

func (q *queue) isEmpty() bool { return q.fifo.Head == 0 }

func (q *queue) depth() int32 {
	if q.levels == nil {
		return q.fifo.Length
	}
	return q.fifo.Length + q.levels.ready
}

func (q *queue) push(t *items.Table, id uint32, e *items.Entry) {
	if q.levels == nil {
		t.Join(&q.fifo, id, e)
	} else {
		q.file(t, q.levels.of(t.Requested.Run(id)), id, e)
	}
}

func (q *queue) pull(t *items.Table, id uint32, e *items.Entry) {
	if q.levels == nil {
		t.Unlink(&q.fifo, id, e)
	} else {
		q.leave(t, q.levels.of(t.Requested.Run(id)), id, e)
	}
}

// take takes the next entry. There must be a ready one.
func (q *queue) take(t *items.Table, passedOver bool) (id uint32, e *items.Entry, priority int) {
	q.processing++
	l := q.levels
	if l != nil && l.ranked {
		return q.takeFrom(t, l.next(passedOver))
	}
	id = q.fifo.Head
	e = t.At(id)
	q.fifo.Head = e.Next
	q.fifo.Length--
	if l != nil {
		if priority = l.served.priority; q.isEmpty() {
			q.serveNext()
		}
	}
	return id, e, priority
}

func (q *queue) raise(t *items.Table, id uint32, e *items.Entry, priority int) {
	q.pull(t, id, e)
	t.Requested.SetRun(id, priority)
	t.Places.Renew(id)
	q.push(t, id, e)
}

func (q *queue) walk(t *items.Table, visit func(id uint32) bool) (on bool) {
	if q.levels == nil {
		return t.Walk(&q.fifo, visit)
	}
	if !q.levels.served.walk(t, &q.fifo, visit) {
		return false
	}
	for v := range q.levels.inOrder() {
		if !v.walk(t, &v.list, visit) {
			return false
		}
	}
	return true
}
