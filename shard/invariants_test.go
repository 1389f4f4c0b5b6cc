package shard

import (
	"maps"
	"math/bits"
)

// failer is what the checks need of a test. *testing.T, the argument of
// *testing.F and *rapid.T all have it.
type failer interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// checkTable fails the test unless all redundant data of a table agree: items
// and the hashes in the index, the slots and their counts, the directory and
// the depths, the entries and the free lists, the entries and their memory.
func checkTable[T comparable](t failer, table *table, hash func(T) uint32) {
	t.Helper()
	hashes := checkIndex(t, &table.index, table.hashOf)
	if len(hashes) != int(table.live) {
		t.Fatalf("%d entries in the index, but live is %d", len(hashes), table.live)
	}
	for id, h := range hashes {
		checkEntry(t, table, id, h, hash)
	}
	checkSlab(t, &table.slab, hashes)
}

func checkEntry[T comparable](t failer, table *table, id, h uint32, hash func(T) uint32) {
	t.Helper()
	item := *itemOf[T](table.at(id))
	if hash(item) != h {
		t.Fatalf("entry %d of item %v with hash %#x is filed under %#x", id, item, hash(item), h)
	}
	found, p := find(table, h, item)
	if found != id || p.segment.slots[p.slot] != p.segment.pack(h, id) {
		t.Fatalf("entry %d of item %v: find returned %d at %d", id, item, found, p.slot)
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
	for first := 0; first < len(x.directory); {
		s := x.directory[first]
		if seen[s] || s.depth > x.depth {
			t.Fatalf("place %d of the directory, of depth %d: a segment of depth %d, seen before: %v",
				first, x.depth, s.depth, seen[s])
		}
		seen[s] = true
		if s.depth == x.depth {
			atDepth++
		}
		count := 1 << (x.depth - s.depth)
		checkSpan(t, x, first, count)
		checkSegment(t, s, uint32(first/count), of, hashes)
		first += count
	}
	if atDepth != x.atDepth || atDepth == 0 {
		t.Fatalf("%d segments use all %d bits, but atDepth is %d", atDepth, x.depth, x.atDepth)
	}
	return hashes
}

// checkSpan checks that a segment has the whole of its part of the directory.
func checkSpan(t failer, x *index, first, count int) {
	t.Helper()
	if first%count != 0 {
		t.Fatalf("a segment of depth %d starts at place %d of %d", x.directory[first].depth, first, len(x.directory))
	}
	for i := range count {
		if x.directory[first+i] != x.directory[first] {
			t.Fatalf("place %d of %d from %d points elsewhere", i, count, first)
		}
	}
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
		if uint32(uint64(hash)>>(32-s.depth)) != prefix {
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
	for id := s.spaces[c].free; id != 0; id = s.at(id).next {
		e := s.at(id)
		_, taken := inUse[id]
		if taken || int(id/s.chunkCells()) != c || e.phase() != idle || e.delayed() {
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

// checkSet fails the test unless all redundant data of a set agree. No other
// goroutine may use the set meanwhile.
func checkSet[T comparable](t failer, s *Set[T]) {
	t.Helper()
	for i := range s.Core.shards {
		checkShard(t, s, s.Core.shard(i))
	}
	checkThrottled(t, s)
	if state := s.Core.driver.ownership.Load(); state != timerIdle && state != timerStopped {
		t.Fatalf("the timer is left in state %d", state)
	}
	if !s.Core.closing.begun.Load() && s.Core.driver.armed.Load() > s.Core.earliest() {
		t.Fatalf("the driver is set for %d, a deadline is at %d", s.Core.driver.armed.Load(), s.Core.earliest())
	}
}

func checkShard[T comparable](t failer, s *Set[T], sh *shard) {
	t.Helper()
	if sh.table != nil {
		checkTable(t, sh.table, func(item T) uint32 { return uint32(s.hash(item)) })
	}
	counts := map[phase]int{}
	waiting := 0
	for id := range idsOf(t, sh) {
		e := sh.table.at(id)
		counts[e.phase()]++
		if e.delayed() {
			waiting++
		}
		checkItem(t, s, sh, id, e)
	}
	checkFIFO(t, s, sh, counts[ready])
	checkDepths(t, s, sh)
	if sh.groups == nil {
		checkLevels(t, sh, &sh.ready)
	} else {
		checkGroups(t, s, sh)
	}
	if n := counts[processing] + counts[dirty]; n != int(sh.processing()) {
		t.Fatalf("shard %d: %d items in processing, but its count is %d", sh.number, n, sh.processing())
	}
	checkWheel(t, sh, waiting)
	checkMeasures(t, sh)
}

// checkDepths compares the counts by priority with the entries.
func checkDepths[T comparable](t failer, s *Set[T], sh *shard) {
	t.Helper()
	var got depths
	sh.addDepthsTo(&got)
	if got.tooMany {
		return
	}
	counted := map[int]int{}
	for id := range idsOf(t, sh) {
		if e := sh.table.at(id); e.phase() != ready {
			continue
		} else if sh.table.requested == nil {
			counted[0]++
		} else {
			counted[sh.table.requested.run(id)]++
		}
	}
	maps.DeleteFunc(got.by, func(_, n int) bool { return n == 0 })
	if !maps.Equal(got.by, counted) {
		t.Fatalf("shard %d: %v items are ready by priority, but the reading has %v", sh.number, counted, got.by)
	}
}

// idsOf checks the index of a shard, if it has one, and returns the ids in use.
func idsOf(t failer, sh *shard) (hashes map[uint32]uint32) {
	t.Helper()
	if sh.table == nil {
		return nil
	}
	return checkIndex(t, &sh.table.index, sh.table.hashOf)
}

func checkItem[T comparable](t failer, s *Set[T], sh *shard, id uint32, e *entry) {
	t.Helper()
	if e.phase() == idle && !e.delayed() {
		t.Fatalf("item %v is neither ready nor processing nor delayed, but not forgotten", *itemOf[T](e))
	}
	if home := s.shardOf(*itemOf[T](e)); home != sh {
		t.Fatalf("item %v is in shard %d, but belongs to %d", *itemOf[T](e), sh.number, home.number)
	}
	deadline, filed := uint64(0), false
	if sh.wheel != nil {
		deadline, filed = sh.wheel.Deadline(id)
	}
	if filed != e.delayed() {
		t.Fatalf("item %v: delayed is %v, in the wheel %v", *itemOf[T](e), e.delayed(), filed)
	}
	if filed && deadline < sh.next.Load() {
		t.Fatalf("item %v is due at %d, but the shard's next is %d", *itemOf[T](e), deadline, sh.next.Load())
	}
}

func checkFIFO[T comparable](t failer, s *Set[T], sh *shard, ready int) {
	t.Helper()
	if items := readyItems(t, s, sh); len(items) != int(sh.depth()) || len(items) != ready {
		t.Fatalf("shard %d: %d items in the FIFO, %d in phase ready, length %d",
			sh.number, len(items), ready, sh.depth())
	}
	if len(sh.set.shards) == 1 {
		return // it has no ready bit
	}
	servable := ready > 0
	if sh.groups != nil {
		servable = sh.groups.best.turn != 0
	}
	if bit := sh.set.readyWord(int(sh.number/wordBits))>>(sh.number%wordBits)&1 == 1; bit != servable {
		t.Fatalf("shard %d: the ready bit is %v with %d ready items", sh.number, bit, ready)
	}
}

// allReady returns the items of all FIFOs.
func allReady[T comparable](t failer, s *Set[T]) (items []T) {
	t.Helper()
	for i := range s.Core.shards {
		items = append(items, readyItems(t, s, s.Core.shard(i))...)
	}
	return items
}

// readyItems returns the items of a shard's FIFO, in order.
func readyItems[T comparable](t failer, s *Set[T], sh *shard) (items []T) {
	t.Helper()
	if sh.groups == nil {
		return queuedItems(t, s, sh, &sh.ready)
	}
	for id := range sh.groups.inOrder() {
		items = append(items, queuedItems(t, s, sh, &sh.groups.at(id).ready)...)
	}
	return items
}

// queuedItems returns the items of a run queue, in order.
func queuedItems[T comparable](t failer, s *Set[T], sh *shard, q *runQueue) (items []T) {
	t.Helper()
	if q.levels == nil {
		return itemsOf(t, s, sh, &q.fifo, nil)
	}
	items = itemsOf(t, s, sh, &q.fifo, q.levels.served.late)
	for v := range q.levels.inOrder() {
		items = append(items, itemsOf(t, s, sh, &v.list, v.late)...)
	}
	return items
}

// itemsOf returns the items in a list of ready entries, and checks its links.
// The late entries of the level are apart, and count in the list's length.
func itemsOf[T comparable](t failer, s *Set[T], sh *shard, list *fifo, late *lateHeap) (items []T) {
	t.Helper()
	last := uint32(0)
	for id := list.head; id != 0; id = sh.table.at(id).next {
		e := sh.table.at(id)
		if e.phase() != ready {
			t.Fatalf("item %v is in the FIFO in phase %d", *itemOf[T](e), e.phase())
		}
		if id != list.head && e.previous() != last {
			t.Fatalf("item %v is linked back to entry %d, not to %d", *itemOf[T](e), e.previous(), last)
		}
		if items = append(items, *itemOf[T](e)); len(items) > int(sh.table.live) {
			t.Fatalf("the FIFO of shard %d does not end", sh.number)
		}
		last = id
	}
	if last != 0 && last != list.tail {
		t.Fatalf("a FIFO of shard %d ends at %d, but its tail is %d", sh.number, last, list.tail)
	}
	if late != nil {
		for _, id := range late.ids {
			items = append(items, *itemOf[T](sh.table.at(id)))
		}
	}
	if len(items) != int(list.length) {
		t.Fatalf("a FIFO of shard %d has %d items, but its length is %d", sh.number, len(items), list.length)
	}
	return items
}

func checkWheel(t failer, sh *shard, waiting int) {
	t.Helper()
	if sh.wheel == nil {
		if waiting > 0 {
			t.Fatalf("shard %d: %d items are delayed without a wheel", sh.number, waiting)
		}
		return
	}
	if sh.wheel.Len() != waiting {
		t.Fatalf("shard %d: %d items are delayed, but %d timers are filed", sh.number, waiting, sh.wheel.Len())
	}
}
