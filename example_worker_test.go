package shardq_test

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq"
)

// Workers loop until Get says shutdown. Done is deferred, so that it is said even
// where the work panics.
func Example_workerLoop() {
	q := shardq.Must(shardq.Options[int]{})
	var total atomic.Int64
	work := func(item int) { total.Add(int64(item)) }

	processNext := func() bool {
		item, shutdown := q.Get()
		if shutdown {
			return false
		}
		defer q.Done(item)
		work(item)
		return true
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for processNext() {
			}
		})
	}

	for item := range 101 {
		q.Add(item)
	}
	q.ShutDown() // what is queued is still worked off
	workers.Wait()
	fmt.Println(total.Load())
	// Output: 5050
}
