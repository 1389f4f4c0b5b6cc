package workload

import "time"

// Cycle passes items keys of the stream, one after the other, through Add, Get
// and Done in one goroutine, and returns the time.
func Cycle[T comparable](q Queue[T], stream Stream[T], items int) time.Duration {
	turn := turnOf(q)
	start := time.Now()
	for i := range items {
		q.Add(stream.At(i))
		turn()
	}
	return time.Since(start)
}

// Rotate takes the item that has been ready longest, and adds it again, items
// times in one goroutine, and returns the time. It is a Cycle beside a standing
// backlog. All keys of the backlog must be in the queue.
func Rotate[T comparable](q Queue[T], items int) time.Duration {
	turn := turnOf(q)
	start := time.Now()
	for range items {
		item, _ := turn()
		q.Add(item)
	}
	return time.Since(start)
}

// AddAll adds every key.
func AddAll[T comparable](q Queue[T], keys []T) {
	for _, key := range keys {
		q.Add(key)
	}
}
