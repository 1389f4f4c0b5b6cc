package workload

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// batchSize is the number of items that a goroutine handles between two
// accesses of shared state, so that the harness costs little, and the same for
// every engine.
const batchSize = 64

// run is the shared state of the goroutines of one Load.
type run[T comparable] struct {
	queue Queue[T]
	load  Load
	batch int // the number of items that a consumer counts at once

	workers  sync.WaitGroup
	added    []counter     // by producer
	stopped  atomic.Bool   // set when finished is closed; cheaper to read
	finished chan struct{} // closed when the load is complete

	completed atomic.Int64
	next      atomic.Int64              // the completed item that starts the measurement or ends the run
	deadline  atomic.Pointer[time.Time] // when the run ends, too; nil if there is none

	mu      sync.Mutex
	start   reading // zero during the warm-up
	traffic Traffic
}

// reading is the state of a run at one moment.
type reading struct {
	time      time.Time
	completed int64
	added     int64 // calls of Add
	ready     int64 // length of the queue
}

func newRun[T comparable](q Queue[T], load Load, batch int) *run[T] {
	r := &run[T]{
		queue:    q,
		load:     load,
		batch:    batch,
		added:    make([]counter, load.Producers),
		finished: make(chan struct{}),
	}
	r.next.Store(int64(load.Warmup))
	return r
}

// produce starts producer p, which counts its adds.
func (r *run[T]) produce(p int, body func(added *counter)) {
	r.workers.Go(func() { body(&r.added[p]) })
}

// finish starts the consumers, which pass on the items whose Done they called,
// and waits until the load is complete and all goroutines have ended.
func (r *run[T]) finish(pass func(done []T)) Traffic {
	return r.finishBy(func() { r.consume(pass) })
}

// finishBy is finish with consumers of another kind.
func (r *run[T]) finishBy(consume func()) Traffic {
	for range r.load.Consumers {
		r.workers.Go(consume)
	}
	<-r.finished
	r.queue.ShutDown()
	r.workers.Wait()
	return r.traffic
}

func (r *run[T]) consume(pass func(done []T)) {
	turn := turnOf(r.queue)
	done := make([]T, 0, r.batch)
	for !r.stopped.Load() {
		item, shutdown := turn()
		if shutdown {
			return
		}
		if done = append(done, item); len(done) == r.batch {
			pass(done)
			r.count(len(done))
			done = done[:0]
		}
	}
}

// count records that n more items were done, and starts the measurement or ends
// the run if it is time. It takes no lock as a rule, so that a goroutine that
// the scheduler preempts here does not block the others.
func (r *run[T]) count(n int) {
	completed := r.completed.Add(int64(n))
	if completed < r.next.Load() && !r.late() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopped.Load() || completed < r.next.Load() && !r.late():
	case r.start.time.IsZero():
		r.startLocked()
	default:
		r.endLocked()
	}
}

// late reports whether the load's time is over.
func (r *run[T]) late() bool {
	end := r.deadline.Load()
	return end != nil && time.Now().After(*end)
}

func (r *run[T]) startLocked() {
	if r.load.Warm != nil {
		r.load.Warm()
	}
	r.start = r.readLocked()
	r.next.Store(r.start.completed + min(int64(r.load.Items), math.MaxInt64/2)) // the sum must not overflow
	if r.load.Limit > 0 {
		end := r.start.time.Add(r.load.Limit)
		r.deadline.Store(&end)
	}
}

func (r *run[T]) endLocked() {
	end := r.readLocked()
	r.traffic.Elapsed = end.time.Sub(r.start.time)
	r.traffic.Completed = int(end.completed - r.start.completed)
	// Added items that were neither handed out nor are still ready were
	// deduplicated.
	gone := (end.added - end.ready) - (r.start.added - r.start.ready)
	r.traffic.Deduplicated = max(0, int(gone)-r.traffic.Completed)
	r.stopped.Store(true)
	close(r.finished)
}

func (r *run[T]) readLocked() reading {
	return reading{
		time:      time.Now(),
		completed: r.completed.Load(),
		added:     sum(r.added),
		ready:     int64(r.queue.Len()),
	}
}
