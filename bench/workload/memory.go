package workload

import (
	"runtime"
	"time"
)

// HeapOfReady returns the bytes that a ready item takes beside its key, and
// those that a queue retains when all items are done.
func HeapOfReady(newQueue func() Queue, keys []string) (perItem, retained float64) {
	empty := LiveHeap()
	q := newQueue()
	defer q.ShutDown()
	AddAll(q, keys)
	full := LiveHeap()
	for range keys {
		key, _ := q.Get()
		q.Done(key)
	}
	drained := LiveHeap()
	runtime.KeepAlive(keys)
	return (full - empty) / float64(len(keys)), max(0, drained-empty)
}

// HeapOfDelayed returns the bytes that a delayed item takes beside its key.
func HeapOfDelayed(newQueue func() Queue, keys []string) (perItem float64) {
	empty := LiveHeap()
	q := newQueue().(DelayingQueue)
	defer q.ShutDown()
	for i, key := range keys {
		q.AddAfter(key, delayOf(i, 0))
	}
	time.Sleep(50 * time.Millisecond) // client-go takes them in with a goroutine
	full := LiveHeap()
	runtime.KeepAlive(keys)
	return (full - empty) / float64(len(keys))
}

// LiveHeap returns the bytes that are in use after a collection.
func LiveHeap() float64 {
	runtime.GC() // twice: the second frees what finalizers and pools hold
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
