package workload

import (
	"hash/maphash"
	"sync"
	"time"
)

// Floor does only what every queue of this contract must do for an item: three
// hashes, three uncontended locks, and three operations of a map, one for each
// of Add, Get and Done. It returns the time.
func Floor[T comparable](stream Stream[T], items int) time.Duration {
	var (
		seed  = maphash.MakeSeed()
		locks [64]sync.Mutex
		known = map[T]struct{}{}
	)
	start := time.Now()
	for i := range items {
		item := stream.At(i)
		lock := &locks[maphash.Comparable(seed, item)%64]
		lock.Lock()
		known[item] = struct{}{}
		lock.Unlock()

		lock = &locks[maphash.Comparable(seed, item)%64]
		lock.Lock()
		_ = known[item]
		lock.Unlock()

		lock = &locks[maphash.Comparable(seed, item)%64]
		lock.Lock()
		delete(known, item)
		lock.Unlock()
	}
	return time.Since(start)
}
