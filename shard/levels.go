package shard

import (
	"cmp"
	"iter"
	"slices"
)

// Priorities within a run queue. What is ready lies in a FIFO for each priority: a
// level. The highest level is the one that is served, and its list is the fifo of
// the run queue, from which every Get takes. The others that have something are
// parked, in a heap (heap.go). So a Get, and an Add to the level that is served,
// cost about what they cost without levels, and no operation costs more than the
// logarithm of the number of levels.
//
// A run queue all of whose items have the priority 0 has no levels.

// A level is the FIFO of a priority.
type level struct {
	priority int
	// class is that of the priority: see urgency.
	class int16
	// place is where a parked level is in the heap; unparked if it is not.
	place int
	// list has the items of a parked level. Those of the served one are in the
	// run queue's fifo.
	list fifo
	// next and previous link the levels that have something, the one that was passed over
	// longest first, if lower levels are served now and then.
	next, previous *level
}

const unparked = -1

func newLevel(priority int) *level {
	return &level{priority: priority, class: classOf(priority), place: unparked}
}

// levels is what a run queue keeps of them.
type levels struct {
	// served is the level whose list is the run queue's fifo. If that is empty,
	// all are.
	served *level
	// recent was served or looked for before: while there are two, none is searched.
	recent *level
	// parked has the others that have something: a heap, the highest first.
	parked     []*level
	byPriority map[int]*level
	// ready counts the items in parked levels.
	ready int32
	// class is what the board says of the shard: see urgency.
	class int16
	// first and last are the ends of the list that next and previous link, if ranked says
	// that there is one.
	first, last *level
	ranked      bool
	// lowerEvery lets every so manieth item be of the level that was passed over
	// longest; 0 none. takes counts the items.
	lowerEvery, takes uint32
	// emptied counts how often the shard came to hold nothing.
	emptied uint32
}

// mostIdleLevels is how many levels may be remembered that have nothing. There may be as
// many priorities as items, so those beyond are forgotten.
const mostIdleLevels = 8

// needLevels makes sure that a run queue has levels. What it has had so far has
// priority 0. Within the run queue, every lowerEvery-th take passes by the
// highest level, unless lowerEvery is 0.
func (q *runQueue[T]) needLevels(ranked bool, lowerEvery uint32) {
	if q.levels != nil {
		return
	}
	zero := newLevel(0)
	q.levels = &levels{
		served: zero, recent: zero, byPriority: map[int]*level{0: zero}, ranked: ranked, lowerEvery: lowerEvery,
	}
	if q.fifo.head != 0 {
		q.levels.rank(zero)
	}
}

// needLevels makes sure that an entry's run queue has levels, and that there is
// memory for wishes.
func (sh *shard[T]) needLevels(id uint32) {
	sh.table.needWishes()
	lowerEvery := sh.set.lowerEvery
	ranked := lowerEvery > 0
	if sh.groups == nil && len(sh.set.shards) > 1 {
		lowerEvery = 0 // consumers count for all shards: see lockByPriority
		sh.set.needUrgency()
	}
	sh.queueOf(id).needLevels(ranked, lowerEvery)
}

// levelsTired is called when the shard has come to hold nothing, and reports whether it
// has done so for long with more than a few levels: then it is time to give them back.
func (sh *shard[T]) levelsTired() bool {
	l := sh.ready.levels
	l.emptied++
	few := len(l.byPriority) <= mostIdleLevels && sh.table.wishes.few()
	return l.emptied%patienceWithLevels == 0 && !few
}

// patienceWithLevels is how often a shard empties before it gives levels back. To make them
// costs about half a kilobyte.
const patienceWithLevels = 64

// dropLevels forgets the levels of a shard that holds nothing.
func (sh *shard[T]) dropLevels() {
	if l := sh.ready.levels; l != nil {
		sh.post(l, 0)
		sh.ready.levels = nil
	}
}

// of returns the level of a priority.
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

// retire forgets a level, if it has nothing, and enough others are remembered that have
// nothing.
func (l *levels) retire(v *level) {
	if v != l.served && v != l.recent && v.place == unparked && len(l.byPriority) > len(l.parked)+mostIdleLevels {
		delete(l.byPriority, v.priority)
	}
}

// serve lets a level be served in place of another one, which has nothing left or was
// parked.
func (l *levels) serve(v *level) {
	if before := l.served; before != v {
		l.served = v
		l.remember(before)
	}
}

// file puts a ready entry at the tail of a level.
func (q *runQueue[T]) file(t *table[T], v *level, id uint32, e *entry[T]) {
	l := q.levels
	switch {
	case q.fifo.head == 0:
		l.serve(v)
		l.rank(v)
	case v == l.served:
	case v.priority > l.served.priority:
		l.park(l.served, q.fifo)
		q.fifo = fifo{}
		l.serve(v)
		l.rank(v)
	default:
		if v.list.head == 0 {
			l.park(v, fifo{})
			l.rank(v)
		}
		t.join(&v.list, id, e)
		l.ready++
		return
	}
	t.join(&q.fifo, id, e)
}

// leave takes a ready entry out of its level, from any place. If nothing is left
// of the level that is served, the highest of the others is served.
func (q *runQueue[T]) leave(t *table[T], v *level, id uint32, e *entry[T]) {
	l := q.levels
	if v == l.served {
		if t.unlink(&q.fifo, id, e); q.fifo.head == 0 {
			q.serveNext()
		}
		return
	}
	t.unlink(&v.list, id, e)
	l.ready--
	if v.list.head == 0 {
		l.unrank(v)
		l.unpark(v.place)
		l.retire(v)
	}
}

// serveNext is called when the level that is served has nothing left. It serves
// the next one, if there is one.
func (q *runQueue[T]) serveNext() {
	l := q.levels
	l.unrank(l.served)
	if len(l.parked) > 0 {
		v := l.unpark(0)
		q.fifo, v.list = v.list, fifo{}
		l.ready -= q.fifo.length
		l.serve(v)
	}
}

// next returns the level to take from: as a rule the one that is served, and now
// and then, or if the caller says so, the one that was passed over longest.
func (l *levels) next(passedOver bool) *level {
	if l.lowerEvery > 0 {
		l.takes++
		passedOver = l.takes%l.lowerEvery == 0
	}
	if passedOver {
		return l.first
	}
	return l.served
}

// takeFrom takes the head of a level out, which then is the last in the order of
// those that were passed over.
func (q *runQueue[T]) takeFrom(t *table[T], v *level) (id uint32, e *entry[T], priority int) {
	id = q.listOf(v).head
	e = t.at(id)
	q.leave(t, v, id, e)
	if q.listOf(v).head != 0 {
		q.levels.unrank(v)
		q.levels.rank(v)
	}
	return id, e, v.priority
}

// listOf returns where the items of a level are.
func (q *runQueue[T]) listOf(v *level) *fifo {
	if v == q.levels.served {
		return &q.fifo
	}
	return &v.list
}

// inOrder returns the parked levels, the highest first. To get at a few costs about
// their number, however many there are: behind the highest of a heap comes one of its
// two children.
func (l *levels) inOrder() iter.Seq[*level] {
	return func(yield func(*level) bool) {
		next := slices.Clone(l.parked[:min(1, len(l.parked))]) // the highest last
		for len(next) > 0 {
			v := next[len(next)-1]
			next = next[:len(next)-1]
			if !yield(v) {
				return
			}
			for child := 2*v.place + 1; child <= 2*v.place+2 && child < len(l.parked); child++ {
				at, _ := slices.BinarySearchFunc(next, l.parked[child].priority,
					func(v *level, priority int) int { return cmp.Compare(v.priority, priority) })
				next = slices.Insert(next, at, l.parked[child])
			}
		}
	}
}

// rank puts a level last in the order in which they were passed over; unrank takes one
// out of it.
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
