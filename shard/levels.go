package shard

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
)

// Each priority has a FIFO of ready items, its level. The highest level that
// has items is served: its list is the fifo of the run queue, from which every
// Get takes. The others that have items are in a heap (heap.go).

type level struct {
	priority       int
	class          int16     // of the priority: see priorityBitmap
	place          int       // in the heap, or notInHeap
	list           fifo      // the items, unless the level is served
	late           *lateHeap // the late entries, once there is one: see places
	next, previous *level    // the levels that have items, longest passed over first, if ranked
}

const notInHeap = -1

func newLevel(priority int) *level {
	return &level{priority: priority, class: classOf(priority), place: notInHeap}
}

// levels is nil in a run queue whose items all have the priority 0.
type levels struct {
	served                     *level   // its list is the run queue's fifo; if that is empty, all levels are
	recent                     *level   // served or searched before; with only two levels, no search is needed
	heap                       []*level // the other levels that have items, the highest first
	byPriority                 map[int]*level
	ready                      int32  // the items of the levels in the heap
	class                      int16  // of the shard in the priority bitmap
	first, last                *level // the ends of the list of ranked levels
	ranked                     bool
	lowPriorityInterval, takes uint32 // if not 0, every n-th item is of the level passed over longest
	emptied                    uint32 // how often the shard came to hold nothing
}

// mostIdleLevels bounds memory: there may be as many priorities as items.
const mostIdleLevels = 8

// needLevels gives a run queue levels. All its items have the priority 0.
func (q *runQueue) needLevels(ranked bool, lowPriorityInterval uint32) {
	if q.levels != nil {
		return
	}
	zero := newLevel(0)
	q.levels = &levels{
		served: zero, recent: zero, byPriority: map[int]*level{0: zero},
		ranked: ranked, lowPriorityInterval: lowPriorityInterval,
	}
	if q.fifo.head != 0 {
		q.levels.rank(zero)
	}
}

func (sh *shard) needLevels(id uint32) {
	sh.table.needRequested()
	lowPriorityInterval := uint32(sh.set.config.LowPriorityInterval)
	// Without ranks, take pops the list of the served level by hand.
	ranked := lowPriorityInterval > 0 || sh.table.places != nil
	if sh.groups == nil && len(sh.set.shards) > 1 {
		lowPriorityInterval = 0 // consumers count for all shards: see lockByPriority
		sh.set.needPriorityBitmap()
	}
	sh.queueOf(id).needLevels(ranked, lowPriorityInterval)
}

// levelsDueForRelease is called when the shard has become empty.
func (sh *shard) levelsDueForRelease() bool {
	l := sh.ready.levels
	l.emptied++
	if sh.set.tracksAdds() {
		return false
	}
	r := sh.table.requested
	few := len(l.byPriority) <= mostIdleLevels && r.runs.Cells() <= 16 && r.delays.Cells() <= 16
	return l.emptied%patienceWithLevels == 0 && !few
}

// patienceWithLevels: a shard that empties so often releases its levels.
const patienceWithLevels = 64

func (sh *shard) dropLevels() {
	if l := sh.ready.levels; l != nil {
		sh.setClass(l, 0)
		sh.ready.levels = nil
	}
}

func (l *levels) of(priority int) *level {
	switch priority {
	case l.served.priority:
		return l.served
	case l.recent.priority:
		return l.recent
	}
	return l.search(priority)
}

func (l *levels) search(priority int) *level {
	v := l.byPriority[priority]
	if v == nil {
		v = newLevel(priority)
		l.byPriority[priority] = v
	}
	l.remember(v)
	return v
}

func (l *levels) remember(v *level) {
	if before := l.recent; before != v {
		l.recent = v
		l.retire(before)
	}
}

func (l *levels) retire(v *level) {
	if v != l.served && v != l.recent && v.place == notInHeap && len(l.byPriority) > len(l.heap)+mostIdleLevels {
		delete(l.byPriority, v.priority)
	}
}

// serve makes a level the served one. The last one is empty or in the heap.
func (l *levels) serve(v *level) {
	if before := l.served; before != v {
		l.served = v
		l.remember(before)
	}
}

func (q *runQueue) file(t *table, v *level, id uint32, e *entry) {
	l := q.levels
	switch {
	case q.fifo.head == 0:
		l.serve(v)
		l.rank(v)
	case v == l.served:
	case v.priority > l.served.priority:
		l.insert(l.served, q.fifo)
		q.fifo = fifo{}
		l.serve(v)
		l.rank(v)
	default:
		if v.list.head == 0 {
			l.insert(v, fifo{})
			l.rank(v)
		}
		t.enter(v, &v.list, id, e)
		l.ready++
		return
	}
	t.enter(v, &q.fifo, id, e)
}

func (q *runQueue) leave(t *table, v *level, id uint32, e *entry) {
	l := q.levels
	if v == l.served {
		if t.quit(v, &q.fifo, id, e); q.fifo.head == 0 {
			q.serveNext()
		}
		return
	}
	t.quit(v, &v.list, id, e)
	l.ready--
	if v.list.head == 0 {
		l.unrank(v)
		l.remove(v.place)
		l.retire(v)
	}
}

func (q *runQueue) serveNext() {
	l := q.levels
	l.unrank(l.served)
	if len(l.heap) > 0 {
		v := l.remove(0)
		q.fifo, v.list = v.list, fifo{}
		l.ready -= q.fifo.length
		l.serve(v)
	}
}

func (l *levels) next(passedOver bool) *level {
	if l.lowPriorityInterval > 0 {
		l.takes++
		passedOver = l.takes%l.lowPriorityInterval == 0
	}
	if passedOver {
		return l.first
	}
	return l.served
}

func (q *runQueue) takeFrom(t *table, v *level) (id uint32, e *entry, priority int) {
	id = q.listOf(v).head
	e = t.at(id)
	q.leave(t, v, id, e)
	if q.listOf(v).head != 0 {
		q.levels.unrank(v)
		q.levels.rank(v)
	}
	return id, e, v.priority
}

func (q *runQueue) listOf(v *level) *fifo {
	if v == q.levels.served {
		return &q.fifo
	}
	return &v.list
}

// inOrder: the next level is always a child of one that was yielded.
func (l *levels) inOrder() iter.Seq[*level] {
	return func(yield func(*level) bool) {
		next := slices.Clone(l.heap[:min(1, len(l.heap))]) // the highest last
		for len(next) > 0 {
			v := next[len(next)-1]
			next = next[:len(next)-1]
			if !yield(v) {
				return
			}
			for child := 2*v.place + 1; child <= 2*v.place+2 && child < len(l.heap); child++ {
				at, _ := slices.BinarySearchFunc(next, l.heap[child].priority,
					func(v *level, priority int) int { return cmp.Compare(v.priority, priority) })
				next = slices.Insert(next, at, l.heap[child])
			}
		}
	}
}

func (l *levels) rank(v *level) {
	if l.ranked {
		l.link(v)
	}
}

func (l *levels) unrank(v *level) {
	if l.ranked {
		l.unlink(v)
	}
}

func (l *levels) link(v *level) {
	v.previous, v.next = l.last, nil
	if l.last == nil {
		l.first = v
	} else {
		l.last.next = v
	}
	l.last = v
}

func (l *levels) unlink(v *level) {
	if v.previous == nil {
		l.first = v.next
	} else {
		v.previous.next = v.next
	}
	if v.next == nil {
		l.last = v.previous
	} else {
		v.next.previous = v.previous
	}
	v.next, v.previous = nil, nil
}

// With KeepPlaces the place of an item is that of the add that asked for the
// run. An item that becomes ready behind its place goes into a heap beside the
// list of its level, unless it is the next of all. The head of the list is
// always the next of the level.

type places struct {
	of   cells[place]
	last uint64 // the number of the last place given
}

type place struct {
	number uint64
	late   uint32 // 1 + the index in the heap of late entries, or 0
}

func (p *places) renew(id uint32) {
	if p != nil {
		p.last++
		p.of.Extend(id).number = p.last
	}
}

func (sh *shard) keepsPlace(id uint32, priority int) bool {
	return sh.table.places != nil && priority <= sh.table.requested.delayed(id)
}

func (t *table) placeOf(id uint32) uint64 {
	if t.places == nil {
		return 0
	}
	if cell := t.places.of.Lookup(id); cell != nil {
		return cell.number
	}
	return 0
}

func (p *places) number(id uint32) uint64 { return p.of.At(id).number }

type lateHeap struct {
	ids    []uint32
	places *places
}

// Len and the others implement heap.Interface. Push and Pop would allocate.
func (h *lateHeap) Len() int { return len(h.ids) }

func (h *lateHeap) Less(i, j int) bool {
	return h.places.number(h.ids[i]) < h.places.number(h.ids[j])
}

func (h *lateHeap) Swap(i, j int) {
	h.ids[i], h.ids[j] = h.ids[j], h.ids[i]
	h.places.of.At(h.ids[i]).late = uint32(i) + 1
	h.places.of.At(h.ids[j]).late = uint32(j) + 1
}

func (h *lateHeap) Push(any) { panic("shard: use insert") }

func (h *lateHeap) Pop() any { panic("shard: use remove") }

func (h *lateHeap) insert(id uint32) {
	h.ids = append(h.ids, id)
	h.places.of.At(id).late = uint32(len(h.ids))
	heap.Fix(h, len(h.ids)-1)
}

func (h *lateHeap) remove(i int) (id uint32) {
	last := len(h.ids) - 1
	if i != last {
		h.Swap(i, last)
	}
	id = h.ids[last]
	h.ids = h.ids[:last]
	if i != last {
		heap.Fix(h, i)
	}
	h.places.of.At(id).late = 0
	if last == 0 && cap(h.ids) > 64 {
		h.ids = nil // after a burst
	}
	return id
}

func (t *table) enter(v *level, f *fifo, id uint32, e *entry) {
	if t.places == nil {
		t.join(f, id, e)
		return
	}
	t.enterInPlace(v, f, id, e)
}

func (t *table) enterInPlace(v *level, f *fifo, id uint32, e *entry) {
	p := t.places
	switch {
	case f.head == 0 || p.number(id) > p.number(f.tail):
		t.join(f, id, e)
	case p.number(id) < p.number(f.head):
		t.joinFirst(f, id, e)
	default:
		if v.late == nil {
			v.late = &lateHeap{places: p}
		}
		e.next = 0 // it is in no list
		v.late.insert(id)
		f.length++
	}
}

func (t *table) quit(v *level, f *fifo, id uint32, e *entry) {
	if t.places == nil {
		t.unlink(f, id, e)
		return
	}
	t.quitInPlace(v, f, id, e)
}

func (t *table) quitInPlace(v *level, f *fifo, id uint32, e *entry) {
	p := t.places
	if late := p.of.At(id).late; late != 0 {
		v.late.remove(int(late) - 1)
		f.length--
		return
	}
	t.unlink(f, id, e)
	if h := v.late; h != nil && len(h.ids) > 0 && (f.head == 0 || p.number(h.ids[0]) < p.number(f.head)) {
		f.length-- // it counts already
		next := h.remove(0)
		t.joinFirst(f, next, t.at(next))
	}
}

func (t *table) walkLevel(v *level, f *fifo, visit func(id uint32) bool) (on bool) {
	if v.late == nil || len(v.late.ids) == 0 {
		return t.walk(f, visit)
	}
	p := t.places
	byPlace := func(a, b uint32) int { return cmp.Compare(p.number(a), p.number(b)) }
	late := slices.SortedFunc(slices.Values(v.late.ids), byPlace)
	before := func(number uint64) bool {
		for ; len(late) > 0 && p.number(late[0]) < number; late = late[1:] {
			if !visit(late[0]) {
				return false
			}
		}
		return true
	}
	return t.walk(f, func(id uint32) bool { return before(p.number(id)) && visit(id) }) && before(never)
}
