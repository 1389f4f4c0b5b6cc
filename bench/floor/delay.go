package floor

import "time"

// AddAfter reads the clock, accesses the item's slot, and sets the timer if
// that is due later. A delay of a quarter of a second or more never expires.
func (q *Queue[T]) AddAfter(item T, delay time.Duration) {
	due := int64(time.Since(q.start) + delay)
	sh, hash := q.at(item)
	sh.mu.Lock()
	q.delayLocked(sh, hash, item, due, delay)
	sh.mu.Unlock()
	q.arm(due)
}

// AddBatchAfter is AddAfter for many items, with one reading of the clock.
func (q *Queue[T]) AddBatchAfter(items []T, delay time.Duration) {
	due := int64(time.Since(q.start) + delay)
	q.byBatches(items, func(some []T) {
		q.each(some, func(sh *shard[T], i int, hash uint64) { q.delayLocked(sh, hash, some[i], due, delay) })
	})
	q.arm(due)
}

func (q *Queue[T]) delayLocked(sh *shard[T], hash uint64, item T, due int64, delay time.Duration) {
	sh.slots[hash&q.slots].stamp = due
	if delay >= (ticks-2)*tick {
		return
	}
	if sh.delayed == nil {
		sh.delayed = new([ticks][]T)
	}
	at := (due/int64(tick) + 1) % ticks
	sh.delayed[at] = append(sh.delayed[at], item)
}

// arm sets the timer if it is due later.
func (q *Queue[T]) arm(due int64) {
	if due >= q.armed.Load() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if due >= q.armed.Load() {
		return
	}
	q.armed.Store(due)
	delay := time.Duration(due) - time.Since(q.start)
	if q.timer == nil {
		q.timer = time.AfterFunc(delay, q.expire)
	} else {
		q.timer.Reset(delay)
	}
}

// expire makes expired items ready, and sets the timer to the next tick.
func (q *Queue[T]) expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for now := int64(time.Since(q.start) / tick); q.expired <= now; q.expired++ {
		for i := range q.shards {
			q.expireIn(&q.shards[i], q.expired%ticks)
		}
	}
	if !q.stopped.Load() {
		q.armed.Store(q.expired * int64(tick))
		q.timer.Reset(tick)
	}
}

func (q *Queue[T]) expireIn(sh *shard[T], at int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.delayed == nil {
		return
	}
	for _, item := range sh.delayed[at] {
		q.pushLocked(sh, item)
	}
	sh.delayed[at] = sh.delayed[at][:0]
}
