package shard

import "github.com/shardq/shardq/internal/shared"

// The ready bits say which shards have something ready, so that a Get need not look
// into each. There is one for each shard. It changes only under the shard's lock, in the
// same critical section as the shard's line of ready items, so that whoever sees no bit
// has seen an empty queue.
//
// Each rowBits shards have a word of their own, on a cache line of its own. An item that
// finds its shard empty writes to that word, and so does the Get that leaves the shard
// empty. Were it one word for all, all cores would wait for one another there.

// rowBits is the number of shards that share a word.
const rowBits = 16

// wordBits is the number of shards that a Get looks at together.
const wordBits = 64

// readyRow has the ready bits of rowBits shards.
type readyRow struct {
	bits shared.Uint64[shared.Ready]
	_    [len(cacheLine{}) - 8]byte
}

func newReadyRows(shards int) []readyRow { return make([]readyRow, (shards+rowBits-1)/rowBits) }

// readyWords returns how many words there are of wordBits bits.
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

// anyReady reports whether any shard had something ready at some moment since it
// was called; if not, each shard was empty at some moment since then.
func (s *Set[T]) anyReady() bool {
	if len(s.shards) == 1 {
		return s.shard(0).servable()
	}
	for i := range s.readyRows {
		if s.readyRows[i].bits.Load() != 0 {
			return true
		}
	}
	return false
}

// servable reports whether a Get would return something. It takes the lock.
func (sh *shard[T]) servable() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.groups != nil {
		return sh.groups.turn != 0
	}
	return !sh.ready.isEmpty()
}

// markReady and markEmpty keep a shard's ready bit. A single shard needs none: to
// look into it costs no more.
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
