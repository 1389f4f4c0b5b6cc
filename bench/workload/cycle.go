package workload

import (
	"hash/maphash"
	"sync"
)

// Cycle takes one key after the other through Add, Get and Done. The queue is
// otherwise as it was.
func Cycle(q Queue, stream Stream, items int) {
	take, one := takerOf(q), make([]string, 1)
	for i := range items {
		q.Add(stream.At(i))
		take(one)
	}
}

// Rotate takes ready keys and adds them again.
func Rotate(q Queue, items int) {
	take, one := takerOf(q), make([]string, 1)
	for range items {
		take(one)
		q.Add(one[0])
	}
}

// Floor does three hashes, three uncontended locks and three operations of a Go
// map for each item: the least that Add, Get and Done cost if each hashes,
// locks and searches once.
func Floor(stream Stream, items int) {
	var (
		seed  = maphash.MakeSeed()
		locks [64]sync.Mutex
		known = map[string]struct{}{}
	)
	for i := range items {
		key := stream.At(i)
		lock := &locks[maphash.String(seed, key)%64]
		lock.Lock()
		known[key] = struct{}{}
		lock.Unlock()

		lock = &locks[maphash.String(seed, key)%64]
		lock.Lock()
		_ = known[key]
		lock.Unlock()

		lock = &locks[maphash.String(seed, key)%64]
		lock.Lock()
		delete(known, key)
		lock.Unlock()
	}
}
