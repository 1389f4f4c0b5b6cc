package shard

// What is ready in a shard, and how others learn of it: by the shard's ready
// bit, on the board of priorities (urgency.go), and in the ring of groups
// (ring.go). Run queues know nothing of these.

// queueOf returns the run queue that an entry is in when it is ready.
func (sh *shard[T]) queueOf(id uint32) *runQueue[T] {
	if sh.groups == nil {
		return &sh.ready
	}
	return sh.queueInGroup(id)
}

func (sh *shard[T]) queueInGroup(id uint32) *runQueue[T] { return &sh.groups.at(sh.groupOf(id)).ready }

// depth returns the number of the shard's ready items.
func (sh *shard[T]) depth() int32 {
	if sh.groups != nil {
		return sh.groups.depth
	}
	return sh.ready.depth()
}

// processing returns the number of the shard's items in processing.
func (sh *shard[T]) processing() int32 {
	if sh.groups != nil {
		return sh.groups.processing
	}
	return sh.ready.processing
}

// push puts an entry that became ready into its run queue.
func (sh *shard[T]) push(id uint32, e *entry[T]) {
	sh.table.times.onReady(id)
	if sh.groups != nil || sh.ready.levels != nil {
		sh.pushInOrder(id, e)
		return
	}
	if sh.ready.isEmpty() { // in line what runQueue.push does, because a call costs 2 ns
		sh.set.markReady(sh.number)
	}
	sh.table.join(&sh.ready.fifo, id, e)
}

// pushInOrder is push where there are groups or priorities.
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
	sh.announce(q.levels, becameReady)
}

// pull takes an entry that is not ready any more out of its run queue.
func (sh *shard[T]) pull(id uint32, e *entry[T]) {
	q := sh.queueOf(id)
	sh.pulled(q, id, q.pull(sh.table, id, e))
}

// pulled is called when an entry was taken out of a run queue.
func (sh *shard[T]) pulled(q *runQueue[T], id uint32, becameEmpty bool) {
	if sh.groups != nil {
		sh.pulledInGroup(id, becameEmpty)
		return
	}
	if becameEmpty {
		sh.set.markEmpty(sh.number)
	}
	if q.levels != nil {
		sh.announce(q.levels, false)
	}
}
