package workload

import (
	"sync"
	"time"
)

// farOff is a delay that does not expire during a benchmark.
const farOff = 1000 * time.Hour

// DelayedKeys is a set of keys that are delayed in a queue with distant
// deadlines. Each gets an earlier deadline again and again.
type DelayedKeys[T comparable] struct {
	queue DelayingQueue[T]
	keys  []T
	calls int
}

// NewDelayedKeys adds every key to the queue with a delay of 1000 to 2000
// hours.
func NewDelayedKeys[T comparable](q DelayingQueue[T], keys []T) *DelayedKeys[T] {
	p := &DelayedKeys[T]{queue: q, keys: Shuffled(keys)}
	p.Reschedule(len(keys))
	return p
}

// Reschedule calls AddAfter calls times, for one key after the other, and
// returns the time. Each call moves the key's deadline forward by a second, so
// that no engine may ignore it.
func (p *DelayedKeys[T]) Reschedule(calls int) time.Duration {
	start := time.Now()
	for range calls {
		position := p.calls % len(p.keys)
		round := p.calls / len(p.keys)
		p.queue.AddAfter(p.keys[position], delayOf(position, round))
		p.calls++
	}
	return time.Since(start)
}

// NewDelayedBatches adds every key to the queue with a delay of 1000 to 2000
// hours. The keys of a batch have the same delay.
func NewDelayedBatches[T comparable](q DelayingBatchQueue[T], keys []T) *DelayedKeys[T] {
	p := &DelayedKeys[T]{queue: q, keys: Shuffled(keys)}
	p.RescheduleBatches(len(keys))
	return p
}

// RescheduleBatches is Reschedule by batches. The keys must have been added by
// NewDelayedBatches. It makes as many calls as that number of keys needs.
func (p *DelayedKeys[T]) RescheduleBatches(keys int) time.Duration {
	q := p.queue.(DelayingBatchQueue[T])
	start := time.Now()
	for keys > 0 {
		position := p.calls % len(p.keys)
		n := min(batchSize, keys, len(p.keys)-position)
		q.AddBatchAfter(p.keys[position:position+n], delayOf(position/batchSize, p.calls/len(p.keys)))
		p.calls += n
		keys -= n
	}
	return time.Since(start)
}

// delayOf spreads the positions evenly over the second 1000 hours, in no order,
// less a second for each round.
func delayOf(position, round int) time.Duration {
	const scatter = 2654435761 // Knuth's multiplicative hash (TAOCP 3, 6.4)
	share := uint32(position) * scatter
	spread := time.Duration(uint64(farOff) / (1 << 32) * uint64(share))
	return farOff + spread - time.Duration(round)*time.Second
}

// DelayedCycle passes every key through AddAfter, the expiry of its delay, Get
// and Done, with as many producers as consumers, and returns the time until the
// last Done. It is not less than the longest delay. The queue must be empty.
// DelayedCycle shuts it down.
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
