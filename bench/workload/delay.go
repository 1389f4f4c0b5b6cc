package workload

import (
	"sync"
	"time"
)

// farOff is a delay that no benchmark lives to see end.
const farOff = 1000 * time.Hour

// Pending is a set of keys that wait in a queue for far deadlines, each given an
// earlier one time after time.
type Pending[T comparable] struct {
	queue DelayingQueue[T]
	keys  []T
	calls int
}

// NewPending makes every key wait in the queue, for 1000 to 2000 hours.
func NewPending[T comparable](q DelayingQueue[T], keys []T) *Pending[T] {
	p := &Pending[T]{queue: q, keys: Shuffled(keys)}
	p.Reschedule(len(keys))
	return p
}

// Reschedule calls AddAfter calls times, for one key after the other, and returns
// how long that took. Each call brings its key's deadline forward by a second, so
// none of them is a call that an engine may ignore.
func (p *Pending[T]) Reschedule(calls int) time.Duration {
	start := time.Now()
	for range calls {
		position := p.calls % len(p.keys)
		round := p.calls / len(p.keys)
		p.queue.AddAfter(p.keys[position], pendingDelay(position, round))
		p.calls++
	}
	return time.Since(start)
}

// NewPendingBatches makes every key wait in the queue, for 1000 to 2000 hours, as many
// keys for the same time as a batch has.
func NewPendingBatches[T comparable](q DelayingBatchQueue[T], keys []T) *Pending[T] {
	p := &Pending[T]{queue: q, keys: Shuffled(keys)}
	p.RescheduleBatches(len(keys))
	return p
}

// RescheduleBatches is Reschedule by batches. The keys must have been made to wait by
// NewPendingBatches. It makes as many calls as are needed for so many keys.
func (p *Pending[T]) RescheduleBatches(keys int) time.Duration {
	q := p.queue.(DelayingBatchQueue[T])
	start := time.Now()
	for keys > 0 {
		position := p.calls % len(p.keys)
		n := min(batchSize, keys, len(p.keys)-position)
		q.AddBatchAfter(p.keys[position:position+n], pendingDelay(position/batchSize, p.calls/len(p.keys)))
		p.calls += n
		keys -= n
	}
	return time.Since(start)
}

// pendingDelay spreads the positions evenly over the second 1000 hours, in no
// order, less a second for each round.
func pendingDelay(position, round int) time.Duration {
	const scatter = 2654435761 // Knuth's multiplicative hash (TAOCP 3, 6.4)
	share := uint32(position) * scatter
	spread := time.Duration(uint64(farOff) / (1 << 32) * uint64(share))
	return farOff + spread - time.Duration(round)*time.Second
}

// DelayedCycle takes every key through AddAfter, the expiry of its delay, Get and
// Done, with as many producers as consumers, and returns the time until the last
// Done. It cannot be less than the longest delay. The queue must be empty; it is
// shut down in the end.
func DelayedCycle[T comparable](q DelayingQueue[T], keys []T, delays []time.Duration, workers int) time.Duration {
	var running sync.WaitGroup
	completed := make([]counter, workers)
	start := time.Now()
	for w := range workers {
		running.Go(func() { addAfterEach(q, keys, delays, w, workers) })
		running.Go(func() { consumeCounting(q, &completed[w]) })
	}
	awaitSum(completed, int64(len(keys)))
	elapsed := time.Since(start)
	q.ShutDown()
	running.Wait()
	return elapsed
}

// addAfterEach adds every workers-th key, starting with the first-th.
func addAfterEach[T comparable](q DelayingQueue[T], keys []T, delays []time.Duration, first, workers int) {
	for i := first; i < len(keys); i += workers {
		q.AddAfter(keys[i], delays[i])
	}
}

func consumeCounting[T comparable](q Queue[T], completed *counter) {
	for {
		item, shutdown := q.Get()
		if shutdown {
			return
		}
		q.Done(item)
		completed.Add(1)
	}
}
