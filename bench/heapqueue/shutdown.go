package heapqueue

// ShutDown makes the queue drop every further Add, drops the delayed items, and
// releases every blocked call. It does not wait for workers, which still get
// the ready items. It may be called any number of times, also during a drain,
// which it ends.
func (q *Queue[T]) ShutDown() {
	q.delayed.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shuttingDown = true
	q.draining = false
	q.changed.Broadcast()
}

// ShutDownWithDrain is ShutDown that blocks until no item is in processing.
// Items may still be ready when it returns.
func (q *Queue[T]) ShutDownWithDrain() {
	q.delayed.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shuttingDown = true
	q.draining = true
	q.changed.Broadcast()
	for len(q.processing) != 0 && q.draining {
		q.changed.Wait()
	}
	q.changed.Signal() // the next drain that waits: Done wakes only one
}

// ShuttingDown reports whether a shutdown has begun.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shuttingDown
}
