package workload

import (
	"context"
	"time"
)

// A Load says how many goroutines pass items through a queue, and how many
// items.
type Load struct {
	Producers, Consumers int
	// Warmup is the number of items that are done before the measurement
	// starts.
	Warmup int
	// Items is the number of items that must be done after that.
	Items int
	// Limit ends the load before that.
	//
	// If zero, there is no limit.
	Limit time.Duration
	// Warm, if not nil, is called when the measurement starts.
	Warm func()
}

// Traffic is the result of a Load.
type Traffic struct {
	// Elapsed is the time for the items, without the warm-up.
	Elapsed time.Duration
	// Completed is the number of items that passed from Add through Get to Done
	// in that time. Consumers count in batches, so it may be a little more than
	// the load asks for.
	Completed int
	// Deduplicated is the number of calls of Add, in that time, that found
	// their item in the queue already.
	Deduplicated int
}

// NanosecondsPerItem returns the time for each completed item.
func (t Traffic) NanosecondsPerItem() float64 {
	return float64(t.Elapsed.Nanoseconds()) / float64(t.Completed)
}

// DeduplicatedPerItem returns the number of deduplicated adds for each
// completed item.
func (t Traffic) DeduplicatedPerItem() float64 { return float64(t.Deduplicated) / float64(t.Completed) }

// Open is traffic whose producers never wait. Each repeats the stream, and adds
// as fast as the queue accepts it, as the watchers of a busy system do. Items
// accumulate until every key is in the queue, and further adds are
// deduplicated. Open shuts the queue down.
func Open[T comparable](q Queue[T], stream Stream[T], load Load) Traffic {
	batch := batchSize
	if len(stream) == 1 {
		batch = 1 // one key passes slowly from goroutine to goroutine
	}
	r := newRun(q, load, batch)
	for p := range load.Producers {
		first := p * len(stream) / load.Producers
		r.produce(p, func(added *counter) {
			for i := first; !r.stopped.Load(); i += batchSize {
				for j := range batchSize {
					q.Add(stream.At(i + j))
				}
				added.Add(batchSize)
			}
		})
	}
	return r.finish(func([]T) {})
}

// Closed is traffic in which every key is in one place: in the queue, or with a
// goroutine that is about to add it. Consumers return the keys that are done to
// the producers. So no add is deduplicated, and every Add belongs to an item
// that is completed. There must be more keys than [batchSize] for each consumer
// and producer, because that many stay there. All keys are in the queue at the
// start. Closed shuts the queue down.
func Closed[T comparable](q Queue[T], keys []T, load Load) Traffic {
	r := newRun(q, load, batchSize)
	AddAll(q, keys)
	free := make(chan [batchSize]T, len(keys)/batchSize) // room for all: sending never blocks
	r.produceFrom(free, func(items []T) { AddAll(q, items) })
	return r.finish(func(done []T) { free <- [batchSize]T(done) })
}

// produceFrom starts producers that add the keys that are free.
func (r *run[T]) produceFrom(free <-chan [batchSize]T, add func(items []T)) {
	for p := range r.load.Producers {
		r.produce(p, func(added *counter) {
			for {
				select {
				case <-r.finished:
					return
				case done := <-free:
					add(done[:])
					added.Add(batchSize)
				}
			}
		})
	}
}

// Batches is [Closed] by batches of [batchSize] items: producers add, and
// consumers take and end, that many with one call.
func Batches[T comparable](q BatchQueue[T], keys []T, load Load) Traffic {
	r := newRun[T](q, load, batchSize)
	q.AddBatch(keys)
	free := make(chan [batchSize]T, len(keys)/batchSize)
	r.produceFrom(free, q.AddBatch)
	return r.finishBy(func() { consumeBatches(r, q, func(done []T) { free <- [batchSize]T(done) }) })
}

func consumeBatches[T comparable](r *run[T], q BatchQueue[T], pass func(done []T)) {
	turn := turnBatchOf(q)
	done := make([]T, batchSize)
	full := 0
	for !r.stopped.Load() {
		n, err := turn(context.Background(), done[full:])
		if err != nil {
			return
		}
		if full += n; full == batchSize {
			pass(done)
			r.count(full)
			full = 0
		}
	}
}
