package workload

import (
	"sync"
	"sync/atomic"
	"time"
)

const batchSize = 64 // keys that consumers return, and producers add, at once

// A Load says how many goroutines pass how many items through a queue.
type Load struct {
	Producers, Consumers int
	Warmup, Items        int    // to be done before the measurement, and during it
	Warm                 func() // is called when the measurement starts; or nil
}

// Traffic is the result of a Load, without the warm-up. Consumers count in
// batches, so a few more items than it asks for may be Completed.
type Traffic struct {
	Elapsed   time.Duration
	Completed int
}

// Open is traffic whose producers never wait: once all keys are in the queue,
// adds are deduplicated. Open shuts the queue down.
func Open(q Queue, stream Stream, load Load) Traffic {
	batch := batchSize
	if len(stream) == 1 {
		batch = 1 // one key passes slowly from goroutine to goroutine
	}
	r := newRun(q, load)
	for p := range load.Producers {
		r.workers.Go(func() {
			for i := p * len(stream) / load.Producers; !r.stopped.Load(); i += batchSize {
				for j := range batchSize {
					q.Add(stream.At(i + j))
				}
			}
		})
	}
	return r.consume(batch, func([]string) {})
}

// Closed is traffic whose consumers return keys that are done to the producers,
// so no add is deduplicated. There must be more than 64 keys for each goroutine,
// because that many stay there. Closed shuts the queue down.
func Closed(q Queue, keys []string, load Load) Traffic {
	r := newRun(q, load)
	AddAll(q, keys)
	free := make(chan [batchSize]string, len(keys)/batchSize) // room for all: sending never blocks
	for range load.Producers {
		r.workers.Go(func() {
			for {
				select {
				case <-r.finished:
					return
				case keys := <-free:
					AddAll(q, keys[:])
				}
			}
		})
	}
	return r.consume(batchSize, func(done []string) { free <- [batchSize]string(done) })
}

type run struct {
	queue Queue
	load  Load

	workers  sync.WaitGroup
	stopped  atomic.Bool   // set when finished is closed; cheaper to read
	finished chan struct{} // closed when the load is complete

	completed atomic.Int64
	next      atomic.Int64 // the completed item that starts or ends the measurement

	mu      sync.Mutex
	began   time.Time // zero during the warm-up
	warm    int64     // completed then
	traffic Traffic
}

func newRun(q Queue, load Load) *run {
	r := &run{queue: q, load: load, finished: make(chan struct{})}
	r.next.Store(int64(load.Warmup))
	return r
}

func (r *run) consume(batch int, pass func(done []string)) Traffic {
	for range r.load.Consumers {
		r.workers.Go(func() {
			take, done, full := takerOf(r.queue), make([]string, batch), 0
			for !r.stopped.Load() {
				n := take(done[full:])
				if n == 0 {
					return
				}
				if full += n; full == batch {
					pass(done)
					r.count(full)
					full = 0
				}
			}
		})
	}
	<-r.finished
	r.queue.ShutDown()
	r.workers.Wait()
	return r.traffic
}

func (r *run) count(n int) {
	completed := r.completed.Add(int64(n))
	if completed < r.next.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopped.Load() || completed < r.next.Load():
	case r.began.IsZero():
		if r.load.Warm != nil {
			r.load.Warm()
		}
		r.began, r.warm = time.Now(), r.completed.Load()
		r.next.Store(r.warm + int64(r.load.Items))
	default:
		r.traffic = Traffic{time.Since(r.began), int(r.completed.Load() - r.warm)}
		r.stopped.Store(true)
		close(r.finished)
	}
}
