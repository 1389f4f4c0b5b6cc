package shard

import "sync/atomic"

// What a shard publishes about its ready items. Run queues know nothing of it.

func (sh *shard) queueOf(id uint32) *runQueue {
	if sh.groups == nil {
		return &sh.ready
	}
	return sh.queueInGroup(id)
}

func (sh *shard) queueInGroup(id uint32) *runQueue { return &sh.groups.at(sh.groupOf(id)).ready }

func (sh *shard) depth() int32 {
	if sh.groups != nil {
		return sh.groups.depth
	}
	return sh.ready.depth()
}

func (sh *shard) processing() int32 {
	if sh.groups != nil {
		return sh.groups.processing
	}
	return sh.ready.processing
}

func (sh *shard) push(id uint32, e *entry) {
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

func (sh *shard) pushInOrder(id uint32, e *entry) {
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

func (sh *shard) pull(id uint32, e *entry) {
	q := sh.queueOf(id)
	sh.pulled(q, id, q.pull(sh.table, id, e))
}

func (sh *shard) pulled(q *runQueue, id uint32, becameEmpty bool) {
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

// A shard's ready bit changes only under its lock, in the same critical section
// as its run queue. So a reader that sees it clear knows that the run queue was
// empty. Each rowBits shards have a word on a cache line of its own: adds that
// find their shard empty write to it, and Gets that leave it empty. With one
// word, all cores would contend for it.

const rowBits = 16 // the shards that share a word

const wordBits = 64 // the shards whose bits a Get reads together

type readyRow struct {
	bits atomic.Uint64
	_    [len(cacheLine{}) - 8]byte
}

func (s *Core) readyWords() int { return (len(s.readyRows)*rowBits + wordBits - 1) / wordBits }

func (s *Core) readyWord(word int) (ready uint64) {
	const most = wordBits / rowBits
	rows := s.readyRows[word*most:]
	for i := range rows[:min(most, len(rows))] {
		ready |= rows[i].bits.Load() << (i * rowBits)
	}
	return ready
}

// anyReady: if false, each shard was empty at some moment during the call.
func (s *Core) anyReady() bool {
	if len(s.shards) == 1 {
		return s.servable(s.shard(0))
	}
	for i := range s.readyRows {
		if s.readyRows[i].bits.Load() != 0 {
			return true
		}
	}
	return false
}

func (s *Core) servable(sh *shard) bool {
	sh.lock()
	defer sh.unlock()
	if sh.groups != nil {
		return sh.groups.best.turn != 0
	}
	return !sh.ready.isEmpty()
}

// markReady: a single shard needs no bit, because locking it costs no more.
func (s *Core) markReady(number uint16) {
	if len(s.shards) > 1 {
		s.readyRows[number/rowBits].bits.Or(1 << (number % rowBits))
	}
}

func (s *Core) markEmpty(number uint16) {
	if len(s.shards) > 1 {
		s.readyRows[number/rowBits].bits.And(^(uint64(1) << (number % rowBits)))
	}
}
