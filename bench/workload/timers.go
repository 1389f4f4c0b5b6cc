package workload

import (
	"container/heap"
	"time"
)

// Timers is a data structure that holds deadlines, in ticks. Ids start at 1.
type Timers interface {
	// Schedule adds timer id with a deadline, or changes its deadline.
	Schedule(id uint32, deadline uint64) bool
	// Cancel removes timer id.
	Cancel(id uint32) bool
	// Expire calls expired for each timer whose deadline is not after now.
	Expire(now uint64, expired func(id uint32))
}

// TimerDeadlines returns n deadlines that are spread over (0, within], in no
// order.
func TimerDeadlines(n int, within uint64) []uint64 {
	random := newRandom()
	return build(n, func(int) uint64 { return 1 + random.Uint64N(within) })
}

// ScheduleAll schedules a timer for each deadline.
func ScheduleAll(t Timers, deadlines []uint64) {
	for i, deadline := range deadlines {
		t.Schedule(uint32(i)+1, deadline)
	}
}

// MoveTimers gives timers a new deadline, that of another timer, one timer
// after the other, calls times in all. It returns the time. All deadlines must
// be scheduled and in the future, and their number a power of two.
func MoveTimers(t Timers, deadlines []uint64, calls int) time.Duration {
	const stride = 7919
	start := time.Now()
	for i := range calls {
		id := i & (len(deadlines) - 1)
		t.Schedule(uint32(id)+1, deadlines[(id+i/len(deadlines)+stride)&(len(deadlines)-1)])
	}
	return time.Since(start)
}

// CancelTimers cancels timers and schedules them again, calls times in all, as
// an operation does whose timeout hardly ever expires. It returns the time. All
// deadlines must be scheduled and in the future, and their number a power of
// two.
func CancelTimers(t Timers, deadlines []uint64, calls int) time.Duration {
	start := time.Now()
	for i := range calls {
		id := i & (len(deadlines) - 1)
		t.Cancel(uint32(id) + 1)
		t.Schedule(uint32(id)+1, deadlines[id])
	}
	return time.Since(start)
}

// ExpireTimers schedules a timer for each deadline and advances the time, one
// tick after the other, until all have expired. It returns the time that this
// took.
func ExpireTimers(t Timers, deadlines []uint64, within uint64) time.Duration {
	start := time.Now()
	ScheduleAll(t, deadlines)
	left := len(deadlines)
	for now := uint64(1); now <= within; now++ {
		t.Expire(now, func(uint32) { left-- })
	}
	if left != 0 {
		panic("workload: timers that never fired")
	}
	return time.Since(start)
}

// HeapTimers are timers in a binary heap of container/heap, with the earliest
// first. The zero HeapTimers is empty.
type HeapTimers struct {
	heap timerHeap
}

// Schedule adds timer id with a deadline, or changes its deadline.
func (t *HeapTimers) Schedule(id uint32, deadline uint64) bool {
	if at, filed := t.heap.position(id); filed {
		t.heap.timers[at].deadline = deadline
		heap.Fix(&t.heap, at)
		return true
	}
	heap.Push(&t.heap, heapTimer{deadline, id})
	return true
}

// Cancel removes timer id.
func (t *HeapTimers) Cancel(id uint32) bool {
	at, filed := t.heap.position(id)
	if filed {
		heap.Remove(&t.heap, at)
	}
	return filed
}

// Expire calls expired for each timer whose deadline is not after now.
func (t *HeapTimers) Expire(now uint64, expired func(id uint32)) {
	for t.heap.Len() > 0 && t.heap.timers[0].deadline <= now {
		expired(heap.Pop(&t.heap).(heapTimer).id)
	}
}

type heapTimer struct {
	deadline uint64
	id       uint32
}

// timerHeap implements heap.Interface.
type timerHeap struct {
	timers    []heapTimer
	positions []int32 // by id; position+1 in timers, 0 if not scheduled
}

func (h *timerHeap) position(id uint32) (at int, filed bool) {
	if int(id) >= len(h.positions) {
		return 0, false
	}
	at = int(h.positions[id]) - 1
	return at, at >= 0
}

func (h *timerHeap) Len() int           { return len(h.timers) }
func (h *timerHeap) Less(i, j int) bool { return h.timers[i].deadline < h.timers[j].deadline }

func (h *timerHeap) Swap(i, j int) {
	h.timers[i], h.timers[j] = h.timers[j], h.timers[i]
	h.positions[h.timers[i].id] = int32(i) + 1
	h.positions[h.timers[j].id] = int32(j) + 1
}

func (h *timerHeap) Push(timer any) {
	t := timer.(heapTimer)
	for int(t.id) >= len(h.positions) {
		h.positions = append(h.positions, 0)
	}
	h.timers = append(h.timers, t)
	h.positions[t.id] = int32(len(h.timers))
}

func (h *timerHeap) Pop() any {
	last := len(h.timers) - 1
	t := h.timers[last]
	h.timers = h.timers[:last]
	h.positions[t.id] = 0
	return t
}
