package shard

import "sync/atomic"

// The ready bits tell which shards have ready items, so that a Get need not
// lock each. There is one bit for each shard. It changes only under the shard's
// lock, in the same critical section as the shard's run queue. A reader that
// sees the bit clear therefore knows that the run queue was empty.
//
// Each rowBits shards have a word of their own, on a cache line of its own. An
// add writes to that word if it finds its shard empty, and so does a Get that
// leaves the shard empty. With one word for all shards, all cores would contend
// for it.

// rowBits is the number of shards that share a word.
const rowBits = 16

// wordBits is the number of shards whose bits a Get reads together.
const wordBits = 64

// readyRow has the ready bits of rowBits shards.
type readyRow struct {
	bits atomic.Uint64
	_    [len(cacheLine{}) - 8]byte
}

func newReadyRows(shards int) []readyRow { return make([]readyRow, (shards+rowBits-1)/rowBits) }

// readyWords returns the number of words of wordBits bits.
func (s *Set[T]) readyWords() int { return (len(s.readyRows)*rowBits + wordBits - 1) / wordBits }

// readyWord returns the ready bits of wordBits shards.
func (s *Set[T]) readyWord(word int) (ready uint64) {
	const most = wordBits / rowBits
	rows := s.readyRows[word*most:]
	for i := range rows[:min(most, len(rows))] {
		ready |= rows[i].bits.Load() << (i * rowBits)
	}
	return ready
}

// anyReady reports whether any shard had something ready at some moment since
// the call began. If it returns false, each shard was empty at some moment
// since then.
func (s *Set[T]) anyReady() bool {
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

// servable reports whether a Get from the shard would return something.
func (s *Set[T]) servable(sh *shard[T]) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.groups != nil {
		return sh.groups.best.turn != 0
	}
	return !sh.ready.isEmpty()
}

// markReady and markEmpty set and clear a shard's ready bit. A single shard
// needs none, because locking it costs no more.
func (s *Set[T]) markReady(number uint16) {
	if len(s.shards) > 1 {
		s.readyRows[number/rowBits].bits.Or(1 << (number % rowBits))
	}
}

func (s *Set[T]) markEmpty(number uint16) {
	if len(s.shards) > 1 {
		s.readyRows[number/rowBits].bits.And(^(uint64(1) << (number % rowBits)))
	}
}
