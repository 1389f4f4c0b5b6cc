package shard

import (
	"cmp"
	"container/heap"
	"slices"
)

// Usually an item joins the tail of its run queue when it becomes ready. With
// KeepPlaces its place is that of the add that asked for the run. An item that
// becomes ready late, behind its place, goes into a heap beside the list of its
// level, unless it is the next of all. The head of the list is always the next
// item of the level. So only late items cost more, and no more than the
// logarithm of their number.

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

func (sh *shard[T]) keepsPlace(id uint32, priority int) bool {
	return sh.table.places != nil && priority <= sh.table.requested.delayed(id)
}

func (t *table[T]) placeOf(id uint32) uint64 {
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

// enter puts an entry at its place, or at the tail if places are not kept.
func (t *table[T]) enter(v *level, f *fifo, id uint32, e *entry[T]) {
	if t.places == nil {
		t.join(f, id, e)
		return
	}
	t.enterInPlace(v, f, id, e)
}

func (t *table[T]) enterInPlace(v *level, f *fifo, id uint32, e *entry[T]) {
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

func (t *table[T]) quit(v *level, f *fifo, id uint32, e *entry[T]) {
	if t.places == nil {
		t.unlink(f, id, e)
		return
	}
	t.quitInPlace(v, f, id, e)
}

// quitInPlace makes the next entry of the level the head of the list.
func (t *table[T]) quitInPlace(v *level, f *fifo, id uint32, e *entry[T]) {
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

func (t *table[T]) walkLevel(v *level, f *fifo, visit func(id uint32) bool) (on bool) {
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
