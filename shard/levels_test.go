package shard

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// checkLevels fails the test unless all redundant data of the levels of a run
// queue agree.
func checkLevels[T comparable](t failer, sh *shard[T], q *runQueue[T]) {
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

func checkParked[T comparable](t failer, sh *shard[T], q *runQueue[T]) {
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
func checkRequested[T comparable](t failer, sh *shard[T], q *runQueue[T]) {
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

func checkRanks[T comparable](t failer, sh *shard[T], q *runQueue[T]) {
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
func checkBitmap[T comparable](t failer, sh *shard[T], class int16) {
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

// TestManyLevels: with a thousand levels, items come in the order of their
// priorities, and the shard forgets the levels that it does not need any more.
func TestManyLevels(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	const n = 1000
	for i := range 3 * n {
		s.AddWith(i, Delay{Priority: i * 7 % n})
		if i%100 == 0 {
			checkSet(t, s)
		}
	}
	for i := range 3 * n {
		item, priority, _ := s.GetWithPriority()
		if want := n - 1 - i/3; priority != want || item*7%n != want {
			t.Fatalf("Get %d returned item %d of priority %d, not of %d", i, item, priority, want)
		}
		if i%100 == 0 {
			checkSet(t, s)
		}
		s.Done(item)
	}
	checkSet(t, s)
	if l := s.shard(0).ready.levels; l != nil && len(l.byPriority) > 2*mostIdleLevels {
		t.Errorf("%d levels are remembered", len(l.byPriority))
	}
}

// TestEachPriorityOnce: each priority is used once, like a time, and the shard
// is never empty. The number of remembered levels stays bounded.
func TestEachPriorityOnce(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	s.AddWith(-1, Delay{Priority: -1})
	for i := range 10_000 {
		s.AddWith(i, Delay{Priority: i})
		item, priority, _ := s.GetWithPriority()
		if item != i || priority != i {
			t.Fatalf("Get returned item %d of priority %d, not %d", item, priority, i)
		}
		s.Done(item)
	}
	checkSet(t, s)
}

// TestClasses: classes are ordered like priorities, those up to 15 have a class
// each, and a class spans at most an eighth of its least priority.
func TestClasses(t *testing.T) {
	last := -1
	for n := 0; n >= 0 && n < math.MaxInt/2; n = max(n+1, n+n/64) {
		if n > 0 && classOf(n) < classOf(last) || classOf(-n) != -classOf(n) || n <= 15 && int(classOf(n)) != n {
			t.Fatalf("the class of %d is %d, that of %d is %d", n, classOf(n), last, classOf(last))
		}
		if classOf(n) == classOf(n+max(1, n/8+1)) {
			t.Fatalf("%d and what is an eighth more have the same class", n)
		}
		last = n
	}
	for _, end := range []int{math.MaxInt, math.MinInt} {
		if c := classOf(end); c != classes-1 && c != 1-classes {
			t.Errorf("the class of %d is %d", end, c)
		}
	}
}

// TestPassedOverLevels: with LowPriorityInterval, an item is handed out within
// the promised number of Gets, whatever is added above it.
func TestPassedOverLevels(t *testing.T) {
	for _, every := range []int{1, 2, 5, 16} {
		for _, levels := range []int{2, 3, 10} {
			t.Run(fmt.Sprintf("every=%d,levels=%d", every, levels), func(t *testing.T) {
				s := newTestSet(t, Config[int]{LowPriorityInterval: every})
				const before = 3
				for i := range before + 1 {
					s.AddWith(-i, Delay{Priority: 1})
				}
				gets, item := 0, 1
				for ; item != -before; gets++ {
					for level := range levels - 1 { // all higher ones have items
						s.AddWith(1000*gets+level+1, Delay{Priority: 2 + level})
					}
					item, _, _ = s.GetWithPriority()
					if gets > (before+1)*levels*every {
						t.Fatalf("after %d Gets, the item has not come", gets)
					}
				}
				checkSet(t, s)
				if every > 1 && gets <= every {
					t.Errorf("it came after %d Gets", gets)
				}
			})
		}
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

// TestPassedOverLevelsTakeTurns: a level that was served moves behind the
// others that were passed over, so one with many items does not keep them from
// their turns.
func TestPassedOverLevelsTakeTurns(t *testing.T) {
	const every = 4
	s := newTestSet(t, Config[int]{LowPriorityInterval: every})
	addAll(s, map[int]int{-1: 0, -2: 0, -3: 0, -4: 0})
	s.AddWith(-5, Delay{Priority: 1})
	var passedOver []int
	for gets := range 3 * every {
		s.AddWith(gets, Delay{Priority: 9})
		if _, priority, _ := s.GetWithPriority(); priority < 9 {
			passedOver = append(passedOver, priority)
		}
		checkSet(t, s)
	}
	if !slices.Equal(passedOver, []int{0, 1, 0}) {
		t.Errorf("the levels were served in the order %v", passedOver)
	}
}

// TestPassedOverShards: the same across shards.
func TestPassedOverShards(t *testing.T) {
	const shards, every = 8, 4
	s := newTestSet(t, Config[int]{Shards: shards, LowPriorityInterval: every})
	for i := range shards {
		s.AddWith(-1-itemOf(s, uint16(i)), Delay{Priority: -5})
	}
	low := 0
	for gets := 0; low < shards; gets++ {
		s.AddWith(gets, Delay{Priority: 9})
		if _, priority, _ := s.GetWithPriority(); priority < 0 {
			low++
		}
		if gets > len(s.lanes)*shards*every*2 {
			t.Fatalf("after %d Gets, %d of the low items have come", gets, low)
		}
	}
}

// TestClassesAreTakenOff: Gets skip only a few empty classes and hide the
// others, which come back with their next item.
func TestClassesAreTakenOff(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 4})
	cycle := func(item, priority int) {
		s.AddWith(item, Delay{Priority: priority})
		checkSet(t, s)
		got, p, _ := s.GetWithPriority()
		if got != item || p != priority {
			t.Fatalf("Get returned item %d of priority %d", got, p)
		}
		s.Done(got)
	}
	for i := 1; i < 1000; i++ {
		cycle(i, i)
	}
	cycle(0, 0)
	present := 0
	for i := range s.priorityBitmap.Load().above.present {
		present += bits.OnesCount64(s.priorityBitmap.Load().above.present[i].Load())
	}
	if present > emptyClasses {
		t.Errorf("%d classes are looked at, and none has anything", present)
	}
	for i := 1; i < 100; i++ {
		cycle(i, i)
	}
}

// TestClassComesBack: a hidden class is shown again by a shard that served it
// before, and nothing else since.
func TestClassComesBack(t *testing.T) {
	const shards = 16
	s := newTestSet(t, Config[int]{Shards: shards})
	for range 2 {
		for number := 1; number < shards; number++ {
			item := itemOf(s, uint16(number))
			s.AddWith(item, Delay{Priority: number})
			checkSet(t, s)
			if got, p, _ := s.GetWithPriority(); got != item || p != number {
				t.Fatalf("Get returned item %d of priority %d", got, p)
			}
			s.Done(item)
		}
		item := itemOf(s, 0)
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
		u := s.priorityBitmap.Load()
		side, distance := u.sideOf(classOf(priority))
		if sh := s.lockIn(side, distance, 0); sh != nil {
			t.Fatal("the class has a shard")
		}
		addAll(s, map[int]int{0: priority, 1: priority - 1})
		side.tidy(distance, s.readyWords(), s.readyWord)
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
		if !s.anyReady() {
			t.Fatal("for a moment, nothing was ready")
		}
	}
	other.Wait()
	checkSet(t, s)
}
