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
// batches, so Completed may exceed the number of the Load by a few. Deduplicated
// adds found their key in the queue already.
type Traffic struct {
	Elapsed                 time.Duration
	Completed, Deduplicated int
}

func (t Traffic) NanosecondsPerItem() float64 {
	return float64(t.Elapsed.Nanoseconds()) / float64(t.Completed)
}

func (t Traffic) DeduplicatedPerItem() float64 { return float64(t.Deduplicated) / float64(t.Completed) }

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
				r.added[p].Add(batchSize)
			}
		})
	}
	return r.consume(batch, func([]string) {})
}

// Closed is traffic whose consumers return keys that are done to the producers,
// so no add is deduplicated. There must be more than 64 keys for each goroutine,
// because that many may stay with each. Closed shuts the queue down.
func Closed(q Queue, keys []string, load Load) Traffic {
	r := newRun(q, load)
	AddAll(q, keys)
	free := make(chan [batchSize]string, len(keys)/batchSize) // room for all: sending never blocks
	for p := range load.Producers {
		r.workers.Go(func() {
			for {
				select {
				case <-r.finished:
					return
				case keys := <-free:
					AddAll(q, keys[:])
					r.added[p].Add(batchSize)
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
	added    []counter     // by producer
	stopped  atomic.Bool   // set when finished is closed; cheaper to read
	finished chan struct{} // closed when the load is complete

	completed atomic.Int64
	next      atomic.Int64 // the completed item that starts or ends the measurement

	mu      sync.Mutex
	start   reading // zero during the warm-up
	traffic Traffic
}

// A counter shares no cache line with its neighbours.
type counter struct {
	atomic.Int64
	_ [120]byte
}

type reading struct {
	time                    time.Time
	completed, added, ready int64
}

func newRun(q Queue, load Load) *run {
	r := &run{queue: q, load: load, added: make([]counter, load.Producers), finished: make(chan struct{})}
	r.next.Store(int64(load.Warmup))
	return r
}

func (r *run) consume(batch int, pass func(done []string)) Traffic {
	if w, ok := r.queue.(Worker); ok {
		r.workers.Go(func() { w.Work(r.load.Consumers, r.handler(batch, pass)) })
		return r.result()
	}
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
	return r.result()
}

// handler returns what workers call. They have no names, so the keys that are done
// are in stripes. Its locks cost the engine some nanoseconds.
func (r *run) handler(batch int, pass func(done []string)) func(key string) {
	var stripes [16]struct {
		mu   sync.Mutex
		done []string
		_    [96]byte
	}
	return func(key string) {
		s := &stripes[key[len(key)-1]%16]
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.done = append(s.done, key); len(s.done) == batch {
			pass(s.done)
			r.count(batch)
			s.done = s.done[:0]
		}
	}
}

func (r *run) result() Traffic {
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
	case r.start.time.IsZero():
		if r.load.Warm != nil {
			r.load.Warm()
		}
		r.start = r.read()
		r.next.Store(r.start.completed + int64(r.load.Items))
	default:
		r.end(r.read())
	}
}

func (r *run) end(now reading) {
	r.traffic.Elapsed = now.time.Sub(r.start.time)
	r.traffic.Completed = int(now.completed - r.start.completed)
	// Added keys that were neither handed out nor are still ready were
	// deduplicated.
	gone := (now.added - now.ready) - (r.start.added - r.start.ready)
	r.traffic.Deduplicated = max(0, int(gone)-r.traffic.Completed)
	r.stopped.Store(true)
	close(r.finished)
}

func (r *run) read() reading {
	now := reading{time: time.Now(), completed: r.completed.Load(), ready: int64(r.queue.Len())}
	for i := range r.added {
		now.added += r.added[i].Load()
	}
	return now
}
