package workload

import (
	"runtime"
	"runtime/debug"
	"time"
)

// HeapUse is what a queue takes of the heap, measured after a collection.
type HeapUse struct {
	// PerItem is in bytes: what the items of a full queue cost, the memory of
	// the keys themselves not counted.
	PerItem float64
	// Retained is in bytes: what is left when all items are done.
	Retained float64
}

// HeapOfReady adds every key to a new queue and measures, then takes them all out
// and measures again.
func HeapOfReady[T comparable](newQueue func() Queue[T], keys []T) HeapUse {
	empty := liveHeap()
	q := newQueue()
	defer q.ShutDown()
	AddAll(q, keys)
	full := liveHeap()
	for range keys {
		item, _ := q.Get()
		q.Done(item)
	}
	drained := liveHeap()
	runtime.KeepAlive(keys)
	return HeapUse{PerItem: (full - empty) / float64(len(keys)), Retained: max(0, drained-empty)}
}

// HeapOfWaiting makes every key wait in a new queue for a far deadline, and
// returns the bytes of heap that each takes.
func HeapOfWaiting[T comparable](newQueue func() Queue[T], keys []T) (perItem float64) {
	empty := liveHeap()
	q := newQueue().(DelayingQueue[T])
	defer q.ShutDown()
	for i, key := range keys {
		q.AddAfter(key, pendingDelay(i, 0))
	}
	settle()
	full := liveHeap()
	runtime.KeepAlive(keys)
	return (full - empty) / float64(len(keys))
}

// settle lets the goroutines of an engine that works behind its callers' backs
// take in what was handed to them.
func settle() { time.Sleep(50 * time.Millisecond) }

// liveHeap collects garbage and returns the bytes of the heap that are in use.
func liveHeap() float64 {
	runtime.GC() // twice: what finalizers and pools hold goes with the second
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// Collect gives garbage, and memory that is not in use, back to the system, so that
// one measurement does not weigh on the next.
func Collect() { debug.FreeOSMemory() }
