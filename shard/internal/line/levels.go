package line

import (
	"cmp"
	"iter"
	"slices"

	"github.com/shardq/shardq/shard/internal/items"
)

// Each priority has a FIFO of ready items, its level. The highest level that
// has items is served: its list is the fifo of the queue, from which every
// Get takes. The others that have items are in a heap (heap.go).

type level struct {
	priority       int
	place          int        // in the heap, or notInHeap
	list           items.List // the items, unless the level is served
	late           *lateHeap  // the late entries, once there is one: see places
	next, previous *level     // the levels that have items, longest passed over first, if ranked
}

const notInHeap = -1

func newLevel(priority int) *level {
	return &level{priority: priority, place: notInHeap}
}

// levels is nil in a queue whose items all have the priority 0.
type levels struct {
	served                     *level   // its list is the queue's fifo; if that is empty, all levels are
	recent                     *level   // served or searched before; with only two levels, no search is needed
	heap                       []*level // the other levels that have items, the highest first
	byPriority                 map[int]*level
	ready                      int32  // the items of the levels in the heap
	first, last                *level // the ends of the list of ranked levels
	ranked, changed            bool   // changed: see HasChanged
	lowPriorityInterval, takes uint32 // if not 0, every n-th item is of the level passed over longest
	emptied                    uint32 // how often ReleaseLevels was called
}

// mostIdleLevels bounds memory: there may be as many priorities as items.
const mostIdleLevels = 8

// needLevels gives a queue levels. All its items have the priority 0.
func (q *queue) needLevels(ranked bool, lowPriorityInterval uint32) {
	if q.levels != nil {
		return
	}
	zero := newLevel(0)
	q.levels = &levels{
		served: zero, recent: zero, byPriority: map[int]*level{0: zero},
		ranked: ranked, lowPriorityInterval: lowPriorityInterval,
		changed: true, // also if 0 is served: from now on, Gets go by priorities
	}
	if q.fifo.Head != 0 {
		q.levels.rank(zero)
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

// serve makes a level the served one. The one before is empty or in the heap.
func (l *levels) serve(v *level) {
	if before := l.served; before != v {
		l.served = v
		l.remember(before)
	}
}

func (q *queue) file(t *items.Table, v *level, id uint32, e *items.Entry) {
	l := q.levels
	switch {
	case q.fifo.Head == 0:
		l.serve(v)
		l.rank(v)
		l.changed = true
	case v == l.served:
	case v.priority > l.served.priority:
		l.insert(l.served, q.fifo)
		q.fifo = items.List{}
		l.serve(v)
		l.rank(v)
		l.changed = true
	default:
		if v.list.Head == 0 {
			l.insert(v, items.List{})
			l.rank(v)
		}
		v.enter(t, &v.list, id, e)
		l.ready++
		return
	}
	v.enter(t, &q.fifo, id, e)
}

func (q *queue) leave(t *items.Table, v *level, id uint32, e *items.Entry) {
	l := q.levels
	if v == l.served {
		if v.quit(t, &q.fifo, id, e); q.fifo.Head == 0 {
			q.serveNext()
		}
		return
	}
	v.quit(t, &v.list, id, e)
	l.ready--
	if v.list.Head == 0 {
		l.unrank(v)
		l.remove(v.place)
		l.retire(v)
	}
}

func (q *queue) serveNext() {
	l := q.levels
	l.changed = true
	l.unrank(l.served)
	if len(l.heap) > 0 {
		v := l.remove(0)
		q.fifo, v.list = v.list, items.List{}
		l.ready -= q.fifo.Length
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

func (q *queue) takeFrom(t *items.Table, v *level) (id uint32, e *items.Entry, priority int) {
	id = q.listOf(v).Head
	e = t.At(id)
	q.leave(t, v, id, e)
	if q.listOf(v).Head != 0 {
		q.levels.unrank(v)
		q.levels.rank(v)
	}
	return id, e, v.priority
}

func (q *queue) listOf(v *level) *items.List {
	if v == q.levels.served {
		return &q.fifo
	}
	return &v.list
}

// inOrder yields the levels that have items, the highest first. The next one is
// always a child, in the heap, of one that was yielded.
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
}
