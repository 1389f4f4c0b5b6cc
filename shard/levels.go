package shard

import (
	"cmp"
	"iter"
	"slices"
)

// Priorities within a shard. What is ready lies in a FIFO for each priority: a level. The
// highest level is the one that is served, and its list is the shard's fifo, from which
// every Get takes; the others that have something are parked, in a heap (heap.go). So a
// Get, and an Add to the level that is served, cost about what they cost without levels,
// and no operation costs more than the logarithm of the number of levels.
//
// A shard all of whose items have the priority 0 has no levels.

// A level is the FIFO of a priority.
type level struct {
	priority int
	// class is that of the priority: see urgency.
	class int16
	// place is where a parked level is in the heap; unparked if it is not.
	place int
	// list has the items of a parked level; that of the served one is the shard's fifo.
	list fifo
	// next and previous link the levels that have something, the one that was passed over
	// longest first, if lower levels are served now and then.
	next, previous *level
}

const unparked = -1

func newLevel(priority int) *level {
	return &level{priority: priority, class: classOf(priority), place: unparked}
}

// levels is what a shard keeps of them.
type levels struct {
	// served is the level whose list is the shard's fifo. If that is empty, all are.
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
	// taken is the priority of the item that was handed out last, and takes counts those, if
	// there are ranks.
	taken int
	takes uint32
	// emptied counts how often the shard came to hold nothing.
	emptied uint32
}

// mostIdleLevels is how many levels may be remembered that have nothing. There may be as
// many priorities as items, so those beyond are forgotten.
const mostIdleLevels = 8

// needLevels makes sure that the shard has levels. What it has had so far has priority 0.
func (sh *shard[T]) needLevels() *levels {
	if sh.levels == nil {
		sh.needTable()
		if sh.table.wishes == nil {
			sh.table.wishes = &wishes{}
		}
		zero := newLevel(0)
		sh.levels = &levels{
			served: zero, recent: zero, byPriority: map[int]*level{0: zero}, ranked: sh.set.lowerEvery > 0,
		}
		if sh.fifo.head != 0 {
			sh.levels.rank(zero)
		}
		sh.set.needUrgency()
	}
	return sh.levels
}

// needWishes makes sure that the shard has wishes, and levels to grant them.
func (sh *shard[T]) needWishes() *wishes {
	sh.needLevels()
	return sh.table.wishes
}

// levelsTired is called when the shard has come to hold nothing, and reports whether it
// has done so for long with more than a few levels: then it is time to give them back.
func (sh *shard[T]) levelsTired() bool {
	l := sh.levels
	l.emptied++
	few := len(l.byPriority) <= mostIdleLevels && sh.table.wishes.few()
	return l.emptied%patienceWithLevels == 0 && !few
}

// patienceWithLevels is how often a shard empties before it gives levels back. To make them
// costs about half a kilobyte.
const patienceWithLevels = 64

// dropLevels forgets the levels of a shard that holds nothing.
func (sh *shard[T]) dropLevels() {
	if sh.levels != nil {
		sh.announce(0)
		sh.levels = nil
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

// ready returns the number of ready items.
func (sh *shard[T]) ready() int32 {
	if sh.groups == nil {
		return sh.readyHere()
	}
	return sh.readyHere() + sh.groups.elsewhere
}

// readyHere returns how many there are in the shard's FIFO and levels.
func (sh *shard[T]) readyHere() int32 {
	if sh.levels == nil {
		return sh.fifo.length
	}
	return sh.fifo.length + sh.levels.ready
}

// file puts an entry that is ready at the tail of its level.
func (sh *shard[T]) file(v *level, id uint32, e *entry[T]) {
	l := sh.levels
	switch {
	case sh.fifo.head == 0:
		sh.becameReady()
		l.serve(v)
		l.rank(v)
		sh.announce(v.class)
	case v == l.served:
	case v.priority > l.served.priority:
		l.park(l.served, sh.fifo)
		sh.fifo = fifo{}
		l.serve(v)
		l.rank(v)
		sh.announce(v.class)
	default:
		if v.list.head == 0 {
			l.park(v, fifo{})
			l.rank(v)
		}
		sh.table.join(&v.list, id, e)
		l.ready++
		return
	}
	sh.table.join(&sh.fifo, id, e)
}

// serveNext is called when the level that is served has nothing left. It serves the next
// one, or reports that there is none.
func (sh *shard[T]) serveNext() (ok bool) {
	l := sh.levels
	l.unrank(l.served)
	if len(l.parked) > 0 {
		next := l.unpark(0)
		sh.fifo, next.list = next.list, fifo{}
		l.ready -= sh.fifo.length
		l.serve(next)
		sh.announce(next.class)
		return true
	}
	return false
}

// priorityTaken returns the priority of the item that was handed out last.
func (sh *shard[T]) priorityTaken() int {
	if sh.levels == nil {
		return 0
	}
	return sh.levels.taken
}

// takeRanked is takeLocked where lower levels are served now and then.
func (sh *shard[T]) takeRanked() (id uint32) {
	l := sh.levels
	if l.takes++; (len(sh.set.shards) == 1 || sh.groups != nil) && l.takes%sh.set.lowerEvery == 0 {
		return sh.takePassedOver()
	}
	return sh.takeFrom(l.served)
}

// takePassedOver hands out the head of the level that was passed over longest.
func (sh *shard[T]) takePassedOver() (id uint32) {
	if sh.fifo.head == 0 {
		return 0
	}
	return sh.takeFrom(sh.levels.first)
}

// takeFrom hands out the head of a level, which then is the last in the order of those that
// were passed over.
func (sh *shard[T]) takeFrom(v *level) (id uint32) {
	if id = sh.listOf(v).head; id == 0 {
		return 0
	}
	e := sh.table.at(id)
	sh.leave(v, id, e)
	if sh.listOf(v).head != 0 {
		sh.levels.unrank(v)
		sh.levels.rank(v)
	}
	sh.levels.taken = v.priority
	sh.begin(id, e)
	return id
}

// listOf returns where the items of a level are.
func (sh *shard[T]) listOf(v *level) *fifo {
	if v == sh.levels.served {
		return &sh.fifo
	}
	return &v.list
}

// leave takes a ready entry out of its level, from any place. If nothing is left of that,
// another one is served, or the shard has nothing ready.
func (sh *shard[T]) leave(v *level, id uint32, e *entry[T]) {
	l := sh.levels
	if v == l.served {
		sh.table.part(&sh.fifo, id, e)
		if sh.fifo.head == 0 && !sh.serveNext() {
			sh.becameEmpty()
		}
		return
	}
	sh.table.part(&v.list, id, e)
	l.ready--
	if v.list.head == 0 {
		l.unrank(v)
		l.unpark(v.place)
		l.retire(v)
	}
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
