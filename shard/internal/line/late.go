package line

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/shardq/shardq/shard/internal/items"
)

// With KeepPlaces the place of an item is that of the add that asked for the
// run. An item that becomes ready behind its place goes into a heap beside the
// list of its level, unless it is the next of all. The head of the list is
// always the next of the level.

type lateHeap struct {
	ids    []uint32
	places *items.Places
}

// Len and the others implement heap.Interface. Push and Pop would allocate.
func (h *lateHeap) Len() int { return len(h.ids) }

func (h *lateHeap) Less(i, j int) bool {
	return h.places.Number(h.ids[i]) < h.places.Number(h.ids[j])
}

func (h *lateHeap) Swap(i, j int) {
	h.ids[i], h.ids[j] = h.ids[j], h.ids[i]
	*h.places.Late(h.ids[i]) = uint32(i) + 1
	*h.places.Late(h.ids[j]) = uint32(j) + 1
}

func (h *lateHeap) Push(any) { panic("line: use insert") }

func (h *lateHeap) Pop() any { panic("line: use remove") }

func (h *lateHeap) insert(id uint32) {
	h.ids = append(h.ids, id)
	*h.places.Late(id) = uint32(len(h.ids))
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
	*h.places.Late(id) = 0
	if last == 0 && cap(h.ids) > 64 {
		h.ids = nil // after a burst
	}
	return id
}

func (v *level) enter(t *items.Table, f *items.List, id uint32, e *items.Entry) {
	if t.Places == nil {
		t.Join(f, id, e)
		return
	}
	v.enterInPlace(t, f, id, e)
}

func (v *level) enterInPlace(t *items.Table, f *items.List, id uint32, e *items.Entry) {
	p := t.Places
	switch {
	case f.Head == 0 || p.Number(id) > p.Number(f.Tail):
		t.Join(f, id, e)
	case p.Number(id) < p.Number(f.Head):
		t.JoinFirst(f, id, e)
	default:
		if v.late == nil {
			v.late = &lateHeap{places: p}
		}
		e.Next = 0 // it is in no list
		v.late.insert(id)
		f.Length++
	}
}

func (v *level) quit(t *items.Table, f *items.List, id uint32, e *items.Entry) {
	if t.Places == nil {
		t.Unlink(f, id, e)
		return
	}
	v.quitInPlace(t, f, id, e)
}

func (v *level) quitInPlace(t *items.Table, f *items.List, id uint32, e *items.Entry) {
	p := t.Places
	if late := *p.Late(id); late != 0 {
		v.late.remove(int(late) - 1)
		f.Length--
		return
	}
	t.Unlink(f, id, e)
	if h := v.late; h != nil && len(h.ids) > 0 && (f.Head == 0 || p.Number(h.ids[0]) < p.Number(f.Head)) {
		f.Length-- // it counts already
		next := h.remove(0)
		t.JoinFirst(f, next, t.At(next))
	}
}

func (v *level) walk(t *items.Table, f *items.List, visit func(id uint32) bool) (on bool) {
	if v.late == nil || len(v.late.ids) == 0 {
		return t.Walk(f, visit)
	}
	p := t.Places
	byPlace := func(a, b uint32) int { return cmp.Compare(p.Number(a), p.Number(b)) }
	late := slices.SortedFunc(slices.Values(v.late.ids), byPlace)
	before := func(number uint64) bool {
		for ; len(late) > 0 && p.Number(late[0]) < number; late = late[1:] {
			if !visit(late[0]) {
				return false
			}
		}
		return true
	}
	return t.Walk(f, func(id uint32) bool { return before(p.Number(id)) && visit(id) }) && before(Never)
}
