package shard

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// checkLevels fails the test unless all redundant data of the levels of a run
// queue agree.
func checkLevels(t failer, sh *shard, q *runQueue) {
	t.Helper()
	l := q.levels
	if l == nil {
		checkBitmap(t, sh, 0)
		return
	}
	if q == &sh.ready && q.fifo.head != 0 && len(sh.set.shards) > 1 && l.class != l.served.class {
		t.Fatalf("shard %d serves class %d, but has announced %d", sh.number, l.served.class, l.class)
	}
	checkBitmap(t, sh, l.class)
	checkParked(t, sh, q)
	checkRequested(t, sh, q)
	checkRanks(t, sh, q)
	if most := 2*mostIdleLevels + len(l.heap); len(l.byPriority) > most {
		t.Fatalf("shard %d remembers %d levels, %d of them in the heap", sh.number, len(l.byPriority), len(l.heap))
	}
}

func checkParked(t failer, sh *shard, q *runQueue) {
	t.Helper()
	l := q.levels
	ready := int32(0)
	for place, v := range l.heap {
		ready += v.list.length
		switch {
		case v.place != place || l.byPriority[v.priority] != v || v == l.served:
			t.Fatalf("shard %d: level %d is in place %d of the heap: %+v", sh.number, v.priority, place, v)
		case v.list.head == 0 || q.fifo.head == 0 || v.priority >= l.served.priority:
			t.Fatalf("shard %d: level %d is in the heap, with %d items; served is %d", sh.number, v.priority, v.list.length, l.served.priority)
		case place > 0 && l.heap[(place-1)/2].priority <= v.priority:
			t.Fatalf("shard %d: the heap is out of order at place %d", sh.number, place)
		}
	}
	if ready != l.ready {
		t.Fatalf("shard %d: %d items are in the heap, but its count is %d", sh.number, ready, l.ready)
	}
}

// checkRequested checks that each ready item is in the level that was requested
// for it, and that no other entry has a requested priority.
func checkRequested(t failer, sh *shard, q *runQueue) {
	t.Helper()
	l := q.levels
	lists := map[int]*fifo{l.served.priority: &q.fifo}
	for _, v := range l.heap {
		lists[v.priority] = &v.list
	}
	ids := idsOf(t, sh)
	for priority, list := range lists {
		for id := list.head; id != 0; id = sh.table.at(id).next {
			if run := sh.table.requested.run(id); run != priority {
				t.Fatalf("shard %d: entry %d is in level %d, but %d is requested", sh.number, id, priority, run)
			}
		}
	}
	for id := range uint32(sh.table.requested.delays.Cells()) {
		if _, live := ids[id]; sh.table.requested.delayed(id) != 0 && (!live || !sh.table.at(id).delayed()) {
			t.Fatalf("shard %d: entry %d is not delayed, but %d is requested", sh.number, id, sh.table.requested.delayed(id))
		}
	}
}

func checkRanks(t failer, sh *shard, q *runQueue) {
	t.Helper()
	l := q.levels
	want := slices.Clone(l.heap)
	if q.fifo.head != 0 {
		want = append(want, l.served)
	}
	if !l.ranked {
		want = nil
	}
	n := 0
	for v := l.first; v != nil; v = v.next {
		if n++; !slices.Contains(want, v) || n > len(want) {
			t.Fatalf("shard %d: level %d is ranked wrongly", sh.number, v.priority)
		}
	}
	if n != len(want) {
		t.Fatalf("shard %d: %d levels are ranked, not %d", sh.number, n, len(want))
	}
}

// checkBitmap checks that the shard is in the priority bitmap under its class,
// and nowhere else.
func checkBitmap(t failer, sh *shard, class int16) {
	t.Helper()
	u := sh.set.priorityBitmap.Load()
	if u == nil {
		return
	}
	word, bit := int(sh.number/64), uint64(1)<<(sh.number%64)
	for c := int16(1); c < classes; c++ {
		for _, c := range []int16{c, -c} {
			s, distance := u.sideOf(c)
			is := s.of(distance, len(u.low))[word].Load()&bit != 0
			if is != (c == class) {
				t.Fatalf("shard %d of class %d is in the bitmap under %d: %v", sh.number, class, c, is)
			}
			if is && sh.ready.fifo.head != 0 && s.present[distance/64].Load()>>(distance%64)&1 == 0 {
				t.Fatalf("class %d is not present, and shard %d is there", c, sh.number)
			}
		}
	}
	if low := u.low[word].Load()&bit != 0; low != (class < 0) {
		t.Fatalf("shard %d of class %d: low is %v", sh.number, class, low)
	}
}

// addAll makes items ready, each with a priority of its own.
func addAll(s *Set[int], priorities map[int]int) {
	for item, priority := range priorities {
		s.AddWith(item, Delay{Priority: priority})
	}
}

// TestPassedOverLevelLeaves: a level keeps its place if it is served for a
// moment in which nothing is taken, because the level above it is empty.
func TestPassedOverLevelLeaves(t *testing.T) {
	const every = 4
	s := newTestSet(t, Config[int]{LowPriorityInterval: every})
	s.AddWith(-1, Delay{Priority: 1})
	for i := range 100 {
		s.AddWith(-2-i, Delay{Priority: 0})
	}
	last := 9
	for gets := 0; ; gets++ {
		if last == 9 { // so that there is always one, and none once it was taken
			s.AddWith(gets, Delay{Priority: 9})
		}
		var item int
		if item, last, _ = s.GetWithPriority(); item == -1 {
			break
		}
		if gets > 3*every {
			t.Fatal("the level in the middle has not come")
		}
	}
}

// TestClassComesBack: a hidden class is shown again by a shard that served it
// before, and nothing else since.
func TestClassComesBack(t *testing.T) {
	const shards = 16
	s := newTestSet(t, Config[int]{Shards: shards})
	for range 2 {
		for number := 1; number < shards; number++ {
			item := itemIn(s, uint16(number))
			s.AddWith(item, Delay{Priority: number})
			checkSet(t, s)
			if got, p, _ := s.GetWithPriority(); got != item || p != number {
				t.Fatalf("Get returned item %d of priority %d", got, p)
			}
			s.Done(item)
		}
		item := itemIn(s, 0)
		s.Add(item)
		s.Get() // skips the others, and hides them
		s.Done(item)
	}
}

// TestShardComesWhileItsClassIsTakenOff: a Get finds nothing in a class, and a
// shard joins the class before the Get hides it. The shard found the class
// shown, so the Get must show it again.
func TestShardComesWhileItsClassIsTakenOff(t *testing.T) {
	for _, priority := range []int{5, -5} {
		s := newTestSet(t, Config[int]{Shards: 2, Route: parity})
		s.AddWith(0, Delay{Priority: priority}) // its class is present from now on
		item, _ := s.Get()
		s.Done(item)
		u := s.Core.priorityBitmap.Load()
		side, distance := u.sideOf(classOf(priority))
		if sh := s.Core.lockIn(side, distance, 0); sh != nil {
			t.Fatal("the class has a shard")
		}
		addAll(s, map[int]int{0: priority, 1: priority - 1})
		side.tidy(distance, s.Core.readyWords(), s.Core.readyWord)
		checkSet(t, s)
		if _, got, _ := s.GetWithPriority(); got != priority {
			t.Errorf("Get returned an item of priority %d, not %d", got, priority)
		}
	}
}

// TestRaiseKeepsTheBit: the only ready item rises, and the shard's ready bit
// stays set.
func TestRaiseKeepsTheBit(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 2, Route: parity})
	addAll(s, map[int]int{2: 1})
	n := rounds(t, 200_000)
	var over atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		defer over.Store(true)
		for i := 2; i < n; i++ {
			s.AddWith(2, Delay{Priority: i})
		}
	})
	for !over.Load() {
		if !s.Core.anyReady() {
			t.Fatal("for a moment, nothing was ready")
		}
	}
	other.Wait()
	checkSet(t, s)
}
