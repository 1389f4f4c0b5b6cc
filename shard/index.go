package shard

const (
	smallestSegment = 8
	// largestSegment bounds the pause of growing and shrinking: no more slots
	// than this move at once, however large the index is. (The directory is
	// copied whole, at 8 bytes for 500 to 1000 items.)
	largestSegment = 1024
	// deepest bounds the directory. Beyond it segments grow instead: that takes
	// billions of items in one shard, or hashes that are alike in 22 bits.
	deepest = 32 - 10
)

// index finds the ids of entries by the hash of their items: extendible hashing
// (R. Fagin et al., TODS 1979). A directory, indexed by the top bits of a hash,
// points to segments; a segment is a small open-addressing table, indexed by the
// low bits, with linear probing and deletion by backward shift (no tombstones).
// A segment that is full at its largest size splits in two, so growth moves a
// bounded number of slots, where one large table that doubles would move millions
// of them while everybody waits for the lock; and an index that empties gives its
// segments back one by one as they merge.
type index struct {
	directory []*segment
	// depth is the number of top bits that index the directory.
	depth uint8
	// atDepth counts the segments that use all depth bits. At 0 the directory
	// can halve.
	atDepth int32
}

type segment struct {
	// slots is a power of two long, and at most three quarters full, so that a
	// probe always finds an empty slot.
	slots []slot
	live  int
	// depth is the number of top bits that all hashes of this segment share.
	depth uint8
}

// slot is 8 bytes without pointers. Keeping the hash here means that a probe
// reads an entry only when it is almost certainly the right one, and that growing
// never reads entries at all.
type slot struct {
	hash uint32
	// id is 0 in an empty slot.
	id uint32
}

// noSegment stands in for the segment of a new index: empty, and too small to be
// written to.
var noSegment = segment{slots: make([]slot, 1)}

// noDirectory is the directory of every new index. It is never written to.
var noDirectory = []*segment{&noSegment}

func newIndex() index { return index{directory: noDirectory, atDepth: 1} }

// segmentOf returns the segment that hash belongs to.
func (x *index) segmentOf(hash uint32) *segment {
	return x.directory[x.prefix(hash)]
}

func (x *index) prefix(hash uint32) uint32 {
	return uint32(uint64(hash) >> (32 - x.depth))
}

// insert files id under hash. No entry for the same item is in the index.
func (x *index) insert(hash, id uint32) {
	s := x.segmentOf(hash)
	for s.full() {
		x.grow(s, hash)
		s = x.segmentOf(hash)
	}
	s.put(slot{hash, id})
}

func (s *segment) full() bool { return (s.live+1)*4 > len(s.slots)*3 }

func (s *segment) put(added slot) {
	mask := uint32(len(s.slots) - 1)
	i := added.hash & mask
	for s.slots[i&mask].id != 0 {
		i++
	}
	s.slots[i&mask] = added
	s.live++
}

// remove empties the slot at position of segment s, which hash belongs to, and
// moves later slots of the same run back, so that no look-up meets a gap.
func (x *index) remove(s *segment, position, hash uint32) {
	mask := uint32(len(s.slots) - 1)
	gap := position
	for i := (gap + 1) & mask; s.slots[i].id != 0; i = (i + 1) & mask {
		home := s.slots[i].hash & mask
		if (i-home)&mask >= (i-gap)&mask { // its home is not between gap and i
			s.slots[gap] = s.slots[i]
			gap = i
		}
	}
	s.slots[gap] = slot{}
	s.live--
	if s.live < len(s.slots)/8 && s.depth > 0 {
		x.shrink(s, hash)
	}
}

// grow makes room in segment s, by doubling it or by splitting it.
func (x *index) grow(s *segment, hash uint32) {
	switch {
	case s == &noSegment:
		x.directory = []*segment{{slots: make([]slot, smallestSegment)}}
	case len(s.slots) < largestSegment || s.depth >= deepest:
		s.resize(2 * len(s.slots))
	default:
		x.split(s, hash)
	}
}

func (s *segment) resize(size int) {
	old := s.slots
	s.slots, s.live = make([]slot, size), 0
	for _, o := range old {
		if o.id != 0 {
			s.put(o)
		}
	}
}

// split deals the slots of segment s out to two segments, by one more bit.
func (x *index) split(s *segment, hash uint32) {
	if s.depth == x.depth {
		x.doubleDirectory()
	}
	depth := s.depth + 1
	low := &segment{slots: make([]slot, largestSegment), depth: depth}
	high := &segment{slots: make([]slot, largestSegment), depth: depth}
	for _, o := range s.slots {
		switch {
		case o.id == 0:
		case o.hash>>(32-depth)&1 == 0:
			low.put(o)
		default:
			high.put(o)
		}
	}
	first, count := x.span(hash, s.depth)
	x.point(first, count/2, low)
	x.point(first+count/2, count/2, high)
	if depth == x.depth {
		x.atDepth += 2
	}
}

// span returns the part of the directory whose prefixes start with the top depth
// bits of hash.
func (x *index) span(hash uint32, depth uint8) (first, count uint32) {
	count = 1 << (x.depth - depth)
	return x.prefix(hash) &^ (count - 1), count
}

func (x *index) point(first, count uint32, to *segment) {
	for i := range count {
		x.directory[first+i] = to
	}
}

func (x *index) doubleDirectory() {
	doubled := make([]*segment, 2*len(x.directory))
	for i, s := range x.directory {
		doubled[2*i], doubled[2*i+1] = s, s
	}
	x.directory = doubled
	x.depth++
	x.atDepth = 0
}

// shrink joins segment s with its buddy, the segment that it would have split
// from, if the two are so empty that the result is far from splitting again.
func (x *index) shrink(s *segment, hash uint32) {
	first, count := x.span(hash, s.depth)
	buddy := x.directory[first^count]
	if buddy.depth != s.depth || s.live+buddy.live > largestSegment/4 {
		return
	}
	if s.depth == x.depth {
		x.atDepth -= 2
	}
	into, from := s, buddy
	if into.live < from.live {
		into, from = from, into
	}
	if len(into.slots) > largestSegment {
		into.resize(largestSegment)
	}
	for _, o := range from.slots {
		if o.id != 0 {
			into.put(o)
		}
	}
	into.depth--
	x.point(min(first, first^count), 2*count, into)
	for x.atDepth == 0 && x.depth > 0 {
		x.halveDirectory()
	}
}

func (x *index) halveDirectory() {
	halved := make([]*segment, len(x.directory)/2)
	x.depth--
	for i := range halved {
		halved[i] = x.directory[2*i]
	}
	x.directory = halved
	x.atDepth = 0
	for _, s := range halved {
		if s.depth == x.depth {
			x.atDepth++
		}
	}
}
