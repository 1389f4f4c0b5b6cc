package items

import "math/bits"

// failer is what the checks need of a test. *testing.T and *rapid.T have it.
type failer interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// checkTable fails the test unless all redundant data of a table agree: items
// and the hashes in the index, the slots and their counts, the directory and
// the depths, the entries and the free lists, the entries and their memory.
func checkTable[T comparable](t failer, table *Table, hash func(T) uint32) {
	t.Helper()
	hashes := checkIndex(t, &table.index, table.hashOf)
	if len(hashes) != int(table.Live) {
		t.Fatalf("%d entries in the index, but live is %d", len(hashes), table.Live)
	}
	for id, h := range hashes {
		checkEntry(t, table, id, h, hash)
	}
	checkSlab(t, &table.slab, hashes)
}

func checkEntry[T comparable](t failer, table *Table, id, h uint32, hash func(T) uint32) {
	t.Helper()
	item := *Of[T](table.At(id))
	if hash(item) != h {
		t.Fatalf("entry %d of item %v with hash %#x is filed under %#x", id, item, hash(item), h)
	}
	found, p := table.Find(h, KeyOf(&item))
	if found != id || p.segment.slots[p.slot] != p.segment.pack(h, id) {
		t.Fatalf("entry %d of item %v: find returned %d at %d", id, item, found, p.slot)
	}
	if c := table.Candidate(h); c == 0 || p.segment.pack(table.hashOf(c), 0) != p.segment.pack(h, 0) {
		t.Fatalf("entry %d of item %v: a look-up does not begin with candidate %d", id, item, c)
	}
	if located := p.segment.locate(id, h); located != p.slot || p.segment != table.segmentOf(h) {
		t.Fatalf("entry %d of item %v: found at %d, but located at %d", id, item, p.slot, located)
	}
}

// checkIndex returns the hash of each id in the index.
func checkIndex(t failer, x *index, of hashOf) (hashes map[uint32]uint32) {
	t.Helper()
	if len(x.directory) != 1<<x.depth {
		t.Fatalf("the directory has %d places at depth %d", len(x.directory), x.depth)
	}
	hashes = map[uint32]uint32{}
	atDepth, seen := int32(0), map[*segment]bool{}
	for place, s := range x.directory {
		if s.depth > x.depth || s != x.directory[place&(1<<s.depth-1)] {
			t.Fatalf("place %d of a directory of depth %d has a segment of depth %d of its own", place, x.depth, s.depth)
		}
		if place >= 1<<s.depth {
			continue
		}
		if seen[s] {
			t.Fatalf("the segment of place %d, of depth %d, has others", place, s.depth)
		}
		seen[s] = true
		if s.depth == x.depth {
			atDepth++
		}
		checkSegment(t, s, uint32(place), of, hashes)
	}
	if atDepth != x.atDepth || atDepth == 0 {
		t.Fatalf("%d segments use all %d bits, but atDepth is %d", atDepth, x.depth, x.atDepth)
	}
	return hashes
}

func checkSegment(t failer, s *segment, prefix uint32, of hashOf, hashes map[uint32]uint32) {
	t.Helper()
	live := 0
	for i, o := range s.slots {
		if o == 0 {
			continue
		}
		live++
		id := s.id(o)
		if _, twice := hashes[id]; twice || id == 0 || !s.fits(id) {
			t.Fatalf("entry %d is in the index twice, or its id does not fit in %d bits", id, s.idBits)
		}
		hash := of(id)
		hashes[id] = hash
		if o != s.pack(hash, id) {
			t.Fatalf("the slot of entry %d is %#x, its hash %#x", id, o, hash)
		}
		if hash>>homeBits&(1<<s.depth-1) != prefix {
			t.Fatalf("hash %#x is in the segment of prefix %#x, depth %d", hash, prefix, s.depth)
		}
		checkRun(t, s, i, hash)
	}
	if live != int(s.live) || s != &noSegment && live*4 > len(s.slots)*3 {
		t.Fatalf("%d slots of %d in use, but live is %d", live, len(s.slots), s.live)
	}
	checkSegmentSize(t, s)
}

// checkRun checks that a probe gets from the home of a slot to the slot.
func checkRun(t failer, s *segment, position int, hash uint32) {
	t.Helper()
	mask := len(s.slots) - 1
	home := int(hash) & mask
	for i := home; i != position; i = (i + 1) & mask {
		if s.slots[i] == 0 {
			t.Fatalf("a gap at %d hides slot %d, whose home is %d", i, position, home)
		}
	}
}

func checkSegmentSize(t failer, s *segment) {
	t.Helper()
	size := len(s.slots)
	switch {
	case s == &noSegment:
		if size != 1 || s.live != 0 || s.slots[0] != 0 {
			t.Fatalf("noSegment was written to: %+v", *s)
		}
	case bits.OnesCount(uint(size)) != 1 || size < smallestSegment:
		t.Fatalf("a segment of %d slots", size)
	case size > largestSegment && s.depth < deepest:
		t.Fatalf("a segment of %d slots at depth %d", size, s.depth)
	case size < largestSegment && s.depth > 0:
		t.Fatalf("a segment that was split off has %d slots", size)
	}
}

// checkSlab checks the counts of the chunks, given the entries in use.
func checkSlab[V any](t failer, s *slab, inUse map[uint32]V) {
	t.Helper()
	used := make([]int, len(s.spaces))
	for id := range inUse {
		if id == 0 || int(id/s.chunkCells()) >= len(used) {
			t.Fatalf("entry %d is in use, but there are %d chunks", id, len(used))
		}
		used[id/s.chunkCells()]++
	}
	roomy := checkList(t, s, s.roomy)
	vacant := checkList(t, s, s.vacant)
	for c := range s.spaces {
		free := checkFreeList(t, s, c, inUse)
		c32 := int32(c)
		checkChunk(t, s, c, used[c], free)
		if hasMemory := s.cells.Lookup(s.firstOf(int32(c))) != nil; hasMemory == vacant[c32] {
			t.Fatalf("chunk %d: memory %v, in the list of vacant ones %v", c, hasMemory, vacant[c32])
		}
		if want := !s.full(&s.spaces[c]) && !vacant[c32]; roomy[c32] != want {
			t.Fatalf("chunk %d: in the list of roomy ones %v, should be %v", c, roomy[c32], want)
		}
	}
	checkMemory(t, s)
}

// checkChunk checks that each cell that was ever handed out is in use or free.
func checkChunk(t failer, s *slab, c, used, free int) {
	t.Helper()
	handedOut := int(s.spaces[c].used)
	if c == 0 {
		handedOut-- // id 0
	}
	if used+free != handedOut {
		t.Fatalf("chunk %d: %d cells in use and %d free, of %d", c, used, free, handedOut)
	}
	if c > 0 && used == 0 && s.cells.Lookup(s.firstOf(int32(c))) != nil {
		t.Fatalf("chunk %d has memory but no entry", c)
	}
}

// checkList walks a list of chunks in both directions.
func checkList(t failer, s *slab, first int32) (chunks map[int32]bool) {
	t.Helper()
	chunks = map[int32]bool{}
	previous := int32(0)
	for link := first; link != 0; link = s.spaces[link-1].next {
		if chunks[link-1] || s.spaces[link-1].previous != previous {
			t.Fatalf("chunk %d links back to %d, not to %d; seen before: %v",
				link-1, s.spaces[link-1].previous-1, previous-1, chunks[link-1])
		}
		chunks[link-1] = true
		previous = link
	}
	return chunks
}

// checkFreeList returns the number of a chunk's free cells. They hold nothing.
func checkFreeList[V any](t failer, s *slab, c int, inUse map[uint32]V) (free int) {
	t.Helper()
	for id := s.spaces[c].free; id != 0; id = s.At(id).Next {
		e := s.At(id)
		_, taken := inUse[id]
		if taken || int(id/s.chunkCells()) != c || e.Phase() != Idle || e.Delayed() {
			t.Fatalf("free cell %d of chunk %d, in use %v, holds %+v", id, c, taken, *e)
		}
		if free++; free > int(s.chunkCells()) {
			t.Fatalf("the free list of chunk %d does not end", c)
		}
	}
	return free
}

// checkMemory checks that the cells with memory are those of the chunks in use
// and of at most one in reserve, and that the reserve holds nothing.
func checkMemory(t failer, s *slab) {
	t.Helper()
	cells := 0
	for c := range s.spaces {
		for i := range s.chunkCells() {
			if s.cells.Lookup(s.firstOf(int32(c))+i) == nil {
				break
			}
			cells++
		}
	}
	if spare := s.cells.Cells() - cells; spare != 0 && spare != int(s.chunkCells()) {
		t.Fatalf("%d cells besides those of the chunks in use", spare)
	}
}
