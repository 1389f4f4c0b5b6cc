package shard

import "sync/atomic"

// The ready bits tell which shards have ready items. A shard's bit changes only
// under its lock, in the same critical section as its run queue. So a reader
// that sees the bit clear knows that the run queue was empty.
//
// Each rowBits shards have a word on a cache line of its own. An add that finds
// its shard empty writes to it, and so does a Get that leaves the shard empty.
// With one word, all cores would contend for it.

const rowBits = 16 // the shards that share a word

const wordBits = 64 // the shards whose bits a Get reads together

type readyRow struct {
	bits atomic.Uint64
	_    [len(cacheLine{}) - 8]byte
}

func newReadyRows(shards int) []readyRow { return make([]readyRow, (shards+rowBits-1)/rowBits) }

func (s *Set[T]) readyWords() int { return (len(s.readyRows)*rowBits + wordBits - 1) / wordBits }

func (s *Set[T]) readyWord(word int) (ready uint64) {
	const most = wordBits / rowBits
	rows := s.readyRows[word*most:]
	for i := range rows[:min(most, len(rows))] {
		ready |= rows[i].bits.Load() << (i * rowBits)
	}
	return ready
}

// anyReady reports whether any shard had something ready at some moment since
// the call began. If not, each shard was empty at some moment since then.
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

func (s *Set[T]) servable(sh *shard[T]) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.groups != nil {
		return sh.groups.best.turn != 0
	}
	return !sh.ready.isEmpty()
}

// markReady and markEmpty change a shard's ready bit. A single shard needs
// none: locking it costs no more.
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
