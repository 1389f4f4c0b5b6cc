package timerwheel

import "container/heap"

// heapTimers is the baseline of the benchmarks: a container/heap that tracks
// the position of each timer, written without allocations.
type heapTimers struct {
	items []heapItem
	// positions has the position in items of each id, plus one.
	positions []int32
}

type heapItem struct {
	deadline uint64
	id       uint32
}

func newHeapTimers(ids int) *heapTimers {
	return &heapTimers{positions: make([]int32, ids+1)}
}

func (h *heapTimers) schedule(id uint32, deadline uint64) {
	if position := h.positions[id]; position > 0 {
		h.items[position-1].deadline = deadline
		heap.Fix(h, int(position-1))
		return
	}
	h.items = append(h.items, heapItem{deadline, id})
	h.positions[id] = int32(len(h.items))
	heap.Fix(h, len(h.items)-1) // like heap.Push, without boxing the item
}

func (h *heapTimers) cancel(id uint32) {
	if position := h.positions[id]; position > 0 {
		heap.Remove(h, int(position-1))
	}
}

// expire advances to the earliest deadline and fires what is due then.
func (h *heapTimers) expire(fire func(id uint32, now uint64)) {
	now := h.items[0].deadline
	for len(h.items) > 0 && h.items[0].deadline <= now {
		id := h.items[0].id
		heap.Remove(h, 0)
		fire(id, now)
	}
}

func (h *heapTimers) Len() int           { return len(h.items) }
func (h *heapTimers) Less(i, j int) bool { return h.items[i].deadline < h.items[j].deadline }
func (h *heapTimers) Push(any)           {}

func (h *heapTimers) Pop() any {
	last := len(h.items) - 1
	h.positions[h.items[last].id] = 0
	h.items = h.items[:last]
	return nil
}

func (h *heapTimers) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.positions[h.items[i].id] = int32(i + 1)
	h.positions[h.items[j].id] = int32(j + 1)
}
