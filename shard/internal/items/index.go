package items

import (
	"math/bits"
	"slices"
	"sync"
)

const (
	smallestSegment = 8
	// largestSegment bounds the pause of growing and shrinking: at most this
	// many slots move at once, beside the directory.
	largestSegment = 1 << homeBits
	homeBits       = 10            // of a hash: where its probes begin
	deepest        = 32 - homeBits // bounds the directory; beyond it segments grow
)

// An index finds ids by hashes: extendible hashing (R. Fagin et al., TODS
// 1979). A segment is a small open-addressing table, indexed by the ten low bits
// of a hash. A directory, indexed by the next bits, points to segments. A full
// segment splits, so that growth moves a bounded number of slots under the lock.
type index struct {
	directory []*segment
	depth     uint8 // the bits that index the directory
	// peak is 1 more than the depth of segments that joined, or 0. Expected is
	// the peak of the shard's last index. Up to it, the index grows in larger
	// steps.
	peak, Expected uint8
	atDepth        int32 // the segments that use all depth bits; at 0 the directory can halve
}

type segment struct {
	slots  []slot // a power of two, at most three quarters full, so that a probe ends
	live   int32
	depth  uint8 // the bits above homeBits that all hashes of this segment share
	skips  uint8 // the bits above homeBits that its slots leave out
	idBits uint8 // the bits of a slot that are the id
}

// A slot has an id in its low bits, and in the others the part of the hash that
// fits. 0 is empty. A probe reads an entry only if the parts are equal. If they
// say where a probe begins, a removal reads no entry, and if they have the next
// bits of the directory, neither does a split: an entry is in no cache, and most
// of the time of a split would be spent on reading some hundred of them.
type slot uint32

// A split leaves at least this many bits in a slot that tell entries of one
// home apart. If there would be fewer, it reads the hashes, so that slots need
// not keep the bits that all entries of their segment share.
const fewestTagBits = 2

// fewestIDBits leaves sixteen bits of the hash in a slot, up to 64 Ki ids.
const fewestIDBits = 16

type hashOf func(id uint32) uint32

// noSegment is the segment of every new index. It is never written to.
var noSegment = segment{slots: make([]slot, 1), idBits: fewestIDBits}

var noDirectory = []*segment{&noSegment}

func newIndex() index { return index{directory: noDirectory, atDepth: 1} }

var spareSlots sync.Pool // of *[largestSegment]slot, all empty

func newSlots(size int) []slot {
	if size == largestSegment {
		if spare, ok := spareSlots.Get().(*[largestSegment]slot); ok {
			return spare[:]
		}
	}
	return make([]slot, size)
}

func (s *segment) giveBack() {
	if len(s.slots) == largestSegment {
		clear(s.slots)
		spareSlots.Put((*[largestSegment]slot)(s.slots))
		s.slots = nil
	}
}

func (x *index) segmentOf(hash uint32) *segment {
	return x.directory[x.prefix(hash)]
}

func (x *index) prefix(hash uint32) uint32 {
	return hash >> homeBits & (1<<(x.depth&31) - 1)
}

// insert files id under hash. The item must not be in the index yet.
func (x *index) insert(hash, id uint32, of hashOf) {
	s := x.segmentOf(hash)
	for s.full() {
		x.grow(s, hash, of)
		s = x.segmentOf(hash)
	}
	if !s.fits(id) {
		s.widen(uint8(bits.Len32(id)))
	}
	s.put(s.pack(hash, id), hash)
}

func (s *segment) full() bool { return (int(s.live)+1)*4 > len(s.slots)*3 }

func (s *segment) fits(id uint32) bool { return id>>(s.idBits&31) == 0 }

func (s *segment) pack(hash, id uint32) slot { return slot(s.part(hash)<<(s.idBits&31) | id) }

func (s *segment) part(hash uint32) uint32 {
	const home = 1<<homeBits - 1
	return hash&home | hash>>(s.skips&31)&^home
}

func (s *segment) id(o slot) uint32 { return uint32(o) & (1<<(s.idBits&31) - 1) }

func (s *segment) widen(idBits uint8) {
	wide := segment{idBits: (idBits + 1) / 2 * 2}
	for i, o := range s.slots {
		if o != 0 {
			s.slots[i] = slot(uint32(o)>>s.idBits<<wide.idBits | s.id(o))
		}
	}
	s.idBits = wide.idBits
}

func (s *segment) tells(size int) bool { return size <= 1<<min(homeBits, 32-s.idBits) }

// tagBits returns the number of bits above those of the directory that slots tell.
func (s *segment) tagBits() int {
	if s.depth < s.skips { // since a merge
		return 0
	}
	return max(0, 32-int(s.idBits)-homeBits-int(s.depth-s.skips))
}

func (s *segment) low(o slot, size int, of hashOf) uint32 {
	if s.tells(size) {
		return uint32(o) >> s.idBits
	}
	return of(s.id(o))
}

func (s *segment) put(added slot, hash uint32) {
	mask := uint32(len(s.slots) - 1)
	i := hash & mask
	for s.slots[i&mask] != 0 {
		i++
	}
	s.slots[i&mask] = added
	s.live++
}

func (s *segment) locate(id, hash uint32) (position uint32) {
	mask := uint32(len(s.slots) - 1)
	i := hash & mask
	for s.id(s.slots[i&mask]) != id {
		i++
	}
	return i & mask
}

// remove moves later slots of the same run back, so that no look-up meets a
// gap. of may be nil if the slots tell where probes begin.
func (s *segment) remove(position uint32, of hashOf) {
	mask := uint32(len(s.slots) - 1)
	gap := position
	for i := (gap + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		home := s.low(s.slots[i], len(s.slots), of) & mask
		if (i-home)&mask >= (i-gap)&mask { // its home is not between gap and i
			s.slots[gap] = s.slots[i]
			gap = i
		}
	}
	s.slots[gap] = 0
	s.live--
}

func (s *segment) sparse() bool { return int(s.live) < len(s.slots)/8 && s.depth > 0 }

func (x *index) grow(s *segment, hash uint32, of hashOf) {
	switch {
	case s == &noSegment:
		x.directory = []*segment{{slots: make([]slot, smallestSegment), idBits: fewestIDBits}}
	case len(s.slots) < largestSegment && x.expects() > 0:
		s.resize(largestSegment, of)
	case len(s.slots) < largestSegment || s.depth >= deepest:
		s.resize(2*len(s.slots), of)
	default:
		x.split(s, hash, of)
	}
}

func (x *index) expects() uint8 { return max(x.peak, x.Expected) }

// mostSplits is the number of bits by which a segment splits at most. With
// three, new segments would be sparse, and join again.
const mostSplits = 2

func (x *index) splits(s *segment) uint8 {
	expected := max(x.expects(), 1) - 1
	return min(max(expected, s.depth+1)-s.depth, mostSplits)
}

func (s *segment) resize(size int, of hashOf) {
	old := segment{slots: s.slots}
	s.slots, s.live = newSlots(size), 0
	for _, o := range old.slots {
		if o != 0 {
			s.put(o, s.low(o, size, of))
		}
	}
	old.giveBack()
}

func (x *index) split(s *segment, hash uint32, of hashOf) {
	by := x.splits(s)
	depth, skips := s.depth+by, s.skips
	for x.depth < depth {
		x.doubleDirectory()
	}
	reads := s.tagBits() < int(by)+fewestTagBits
	if reads {
		skips = depth
	}
	var parts [1 << mostSplits]*segment
	for i := range uint32(1) << by {
		parts[i] = &segment{slots: newSlots(largestSegment), depth: depth, skips: skips, idBits: s.idBits}
		x.point(x.prefix(hash)&(1<<s.depth-1)|i<<s.depth, parts[i])
	}
	if reads {
		s.dealByHashes(&parts, by, of)
	} else {
		s.deal(&parts, by)
	}
	if depth == x.depth {
		x.atDepth += 1 << by
	}
	s.giveBack()
}

// deal moves the slots to the segments of their next bits.
func (s *segment) deal(to *[1 << mostSplits]*segment, by uint8) {
	for _, o := range s.slots {
		if o != 0 {
			part := uint32(o) >> s.idBits
			to[part>>(homeBits+s.depth-s.skips)&(1<<by-1)].put(o, part)
		}
	}
}

// dealByHashes reads some hashes before anything depends on them, so that the
// processor has several reads in flight.
func (s *segment) dealByHashes(to *[1 << mostSplits]*segment, by uint8, of hashOf) {
	var hashes [64]uint32
	for slots := s.slots; len(slots) > 0; slots = slots[min(len(slots), len(hashes)):] {
		some := slots[:min(len(slots), len(hashes))]
		for i, o := range some {
			if o != 0 {
				hashes[i] = of(s.id(o))
			}
		}
		for i, o := range some {
			if o != 0 {
				part := to[hashes[i]>>(homeBits+s.depth)&(1<<by-1)]
				part.put(part.pack(hashes[i], s.id(o)), hashes[i])
			}
		}
	}
}

// point lets all places whose low bits are a prefix point to a segment.
func (x *index) point(prefix uint32, to *segment) {
	for i := int(prefix); i < len(x.directory); i += 1 << to.depth {
		x.directory[i] = to
	}
}

func (x *index) doubleDirectory() {
	x.directory = slices.Concat(x.directory, x.directory)
	x.depth++
	x.atDepth = 0
}

// shrink joins a segment with the one that it would have split from.
func (x *index) shrink(s *segment, hash uint32, of hashOf) {
	prefix := x.prefix(hash) & (1<<(s.depth-1) - 1) // of both
	buddy := x.directory[x.prefix(hash)&(1<<s.depth-1)^1<<(s.depth-1)]
	if buddy.depth != s.depth || int(s.live+buddy.live) > largestSegment/4 {
		return
	}
	x.peak = max(x.peak, s.depth+1)
	if s.depth == x.depth {
		x.atDepth -= 2
	}
	into, from := s, buddy
	if into.live < from.live {
		into, from = from, into
	}
	if len(into.slots) > largestSegment {
		into.resize(largestSegment, of)
	}
	if into.idBits < from.idBits {
		into.widen(from.idBits)
	}
	for _, o := range from.slots {
		if o != 0 {
			id := from.id(o)
			hash := of(id)
			into.put(into.pack(hash, id), hash)
		}
	}
	from.giveBack()
	into.depth--
	x.point(prefix, into)
	for x.atDepth == 0 && x.depth > 0 {
		x.halveDirectory()
	}
}

func (x *index) halveDirectory() {
	x.depth--
	x.directory = slices.Clone(x.directory[:len(x.directory)/2])
	x.atDepth = 0
	for _, s := range x.directory {
		if s.depth == x.depth {
			x.atDepth++
		}
	}
}
