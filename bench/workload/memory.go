package workload

import (
	"runtime"
	"runtime/debug"
	"time"
)

// HeapUse is the part of the heap that a queue takes, measured after a
// collection.
type HeapUse struct {
	// PerItem is the cost of an item of a full queue in bytes, without the
	// memory of the key itself.
	PerItem float64
	// Retained is the number of bytes that are left when all items are done.
	Retained float64
}

// HeapOfReady adds every key to a new queue and measures, then takes all of
// them and measures again.
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

// HeapOfDelayed adds every key to a new queue with a distant deadline, and
// returns the bytes of heap that each takes.
func HeapOfDelayed[T comparable](newQueue func() Queue[T], keys []T) (perItem float64) {
	empty := liveHeap()
	q := newQueue().(DelayingQueue[T])
	defer q.ShutDown()
	for i, key := range keys {
		q.AddAfter(key, delayOf(i, 0))
	}
	settle()
	full := liveHeap()
	runtime.KeepAlive(keys)
	return (full - empty) / float64(len(keys))
}

// settle lets the goroutines of an engine accept what the callers have sent
// them.
func settle() { time.Sleep(50 * time.Millisecond) }

// liveHeap collects garbage and returns the bytes of the heap that are in use.
func liveHeap() float64 {
	runtime.GC() // twice: the second frees what finalizers and pools hold
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// Collect returns garbage and unused memory to the system, so that one
// measurement does not affect the next.
func Collect() { debug.FreeOSMemory() }
