package shard

// What a shard publishes about its ready items: its ready bit, its place in the
// priority bitmap, its groups in the round robin. Run queues know nothing of
// these.

func (sh *shard[T]) queueOf(id uint32) *runQueue[T] {
	if sh.groups == nil {
		return &sh.ready
	}
	return sh.queueInGroup(id)
}

func (sh *shard[T]) queueInGroup(id uint32) *runQueue[T] { return &sh.groups.at(sh.groupOf(id)).ready }

func (sh *shard[T]) depth() int32 {
	if sh.groups != nil {
		return sh.groups.depth
	}
	return sh.ready.depth()
}

func (sh *shard[T]) processing() int32 {
	if sh.groups != nil {
		return sh.groups.processing
	}
	return sh.ready.processing
}

func (sh *shard[T]) push(id uint32, e *entry[T]) {
	sh.table.times.onReady(id)
	if sh.groups != nil || sh.ready.levels != nil {
		sh.pushInOrder(id, e)
		return
	}
	if sh.ready.isEmpty() { // runQueue.push by hand, to spare the call
		sh.set.markReady(sh.number)
	}
	sh.table.join(&sh.ready.fifo, id, e)
}

func (sh *shard[T]) pushInOrder(id uint32, e *entry[T]) {
	q := sh.queueOf(id)
	becameReady := q.push(sh.table, id, e)
	if sh.groups != nil {
		sh.pushedInGroup(id, becameReady)
		return
	}
	if becameReady {
		sh.set.markReady(sh.number)
	}
	sh.publishPriority(q.levels, becameReady)
}

func (sh *shard[T]) pull(id uint32, e *entry[T]) {
	q := sh.queueOf(id)
	sh.pulled(q, id, q.pull(sh.table, id, e))
}

func (sh *shard[T]) pulled(q *runQueue[T], id uint32, becameEmpty bool) {
	if sh.groups != nil {
		sh.pulledInGroup(id, becameEmpty)
		return
	}
	if becameEmpty {
		sh.set.markEmpty(sh.number)
	}
	if q.levels != nil {
		sh.publishPriority(q.levels, false)
	}
}
