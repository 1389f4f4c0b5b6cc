package workload

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// Disorder says how far from strict order items were handed out: how many older
// items each Get passed over, and how many younger ones were handed out before
// each item, both in increasing order.
type Disorder struct{ RankErrors, Skips []int }

// MeasureDisorder measures the order in which items 0 to n-1 were handed out.
func MeasureDisorder(out []int) Disorder {
	d := Disorder{RankErrors: make([]int, len(out)), Skips: make([]int, len(out))}
	gone := make(rankTree, len(out)+1)
	for i, item := range out {
		smallerGone := gone.below(item)
		d.RankErrors[i] = item - smallerGone
		d.Skips[item] = i - smallerGone
		gone.insert(item)
	}
	slices.Sort(d.RankErrors)
	slices.Sort(d.Skips)
	return d
}

// OrderOf returns the order in which a queue hands out the keys, of which
// backlog are ready at any time. A lock makes it that of the Gets.
func OrderOf(q Queue, keys []string, backlog, consumers int) (out []int) {
	numbers := make(map[string]int, len(keys))
	for i, key := range keys {
		numbers[key] = i
	}
	AddAll(q, keys[:backlog])
	waiting := keys[backlog:]
	var mu sync.Mutex
	turn := func() (key string, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(out) == len(keys) {
			return "", false
		}
		if len(waiting) > 0 {
			q.Add(waiting[0])
			waiting = waiting[1:]
		}
		key, _ = q.Get()
		out = append(out, numbers[key])
		return key, true
	}
	var running sync.WaitGroup
	for range consumers {
		running.Go(func() {
			for key, more := turn(); more; key, more = turn() {
				q.Done(key)
			}
		})
	}
	running.Wait()
	q.ShutDown()
	return out
}

type rankTree []int

func (t rankTree) insert(number int) {
	for i := number + 1; i < len(t); i += i & -i {
		t[i]++
	}
}

func (t rankTree) below(number int) (count int) {
	for i := number; i > 0; i -= i & -i {
		count += t[i]
	}
	return count
}

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
