package wake

import "sync/atomic"

// Ready has a bit for each shard, or none for a single shard, because locking that
// costs no more. A bit changes only under the shard's lock, in the same critical
// section as its line. So a reader that sees it clear knows that nothing could be
// taken. Each rowBits shards have a word on a cache line of its own: adds that find
// their shard empty write to it, and Gets that leave it empty. With one word, all
// cores would contend for it.
type Ready struct{ rows []row }

const rowBits = 16 // the shards that share a word

// WordBits is the number of shards whose bits are read together.
const WordBits = 64

type row struct {
	bits atomic.Uint64
	_    [64 - 8]byte // the rest of a cache line
}

func NewReady(shards int) Ready {
	if shards == 1 {
		return Ready{}
	}
	return Ready{make([]row, (shards+rowBits-1)/rowBits)}
}

func (r *Ready) Mark(shard uint16) {
	if len(r.rows) > 0 {
		r.rows[shard/rowBits].bits.Or(1 << (shard % rowBits))
	}
}

func (r *Ready) Clear(shard uint16) {
	if len(r.rows) > 0 {
		r.rows[shard/rowBits].bits.And(^(uint64(1) << (shard % rowBits)))
	}
}

func (r *Ready) IsMarked(shard uint16) bool {
	return len(r.rows) > 0 && r.rows[shard/rowBits].bits.Load()>>(shard%rowBits)&1 != 0
}

// Any returns false if each shard was empty at some moment during the call.
func (r *Ready) Any() bool {
	for i := range r.rows {
		if r.rows[i].bits.Load() != 0 {
			return true
		}
	}
	return false
}

func (r *Ready) Words() int { return (len(r.rows)*rowBits + WordBits - 1) / WordBits }

func (r *Ready) Word(i int) (ready uint64) {
	const most = WordBits / rowBits
	rows := r.rows[i*most:]
	for i := range rows[:min(most, len(rows))] {
		ready |= rows[i].bits.Load() << (i * rowBits)
	}
	return ready
}

// A Set chooses some of the ready shards. The zero Set is all of them.
type Set struct {
	bits    []atomic.Uint64
	without uint64 // all ones to choose those that are not in bits
}

// Of returns the ready shards of the set in the i-th word.
func (s *Set) Of(r *Ready, i int) (ready uint64) {
	ready = r.Word(i)
	if i < len(s.bits) {
		ready &= s.bits[i].Load() ^ s.without
	}
	return ready
}

func (s *Set) any(r *Ready) bool {
	for i := range s.bits {
		if s.bits[i].Load()&r.Word(i) != 0 {
			return true
		}
	}
	return false
}
