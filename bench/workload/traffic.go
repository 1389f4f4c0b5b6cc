package workload

import (
	"context"
	"time"
)

// A Load says how many goroutines send items through a queue, and for how long.
type Load struct {
	Producers, Consumers int
	// Warmup is how many items go all the way before the clock starts.
	Warmup int
	// Items is how many must go all the way after that.
	Items int
	// Limit, if not zero, ends the load before that.
	Limit time.Duration
	// Warm, if not nil, is called when the clock starts.
	Warm func()
}

// Traffic is what a Load came to.
type Traffic struct {
	// Elapsed is the time for the items, without the warm-up.
	Elapsed time.Duration
	// Completed is the number of items that went all the way, from Add through
	// Get to Done, in that time. Consumers count in batches, so it can be a
	// little more than was asked for.
	Completed int
	// Merged is how many calls of Add, in that time, found their item in the
	// queue already.
	Merged int
}

// NanosecondsPerItem is the time for each item that went all the way.
func (t Traffic) NanosecondsPerItem() float64 {
	return float64(t.Elapsed.Nanoseconds()) / float64(t.Completed)
}

// MergedPerItem is the number of merged adds for each item that went all the way.
func (t Traffic) MergedPerItem() float64 { return float64(t.Merged) / float64(t.Completed) }

// Open is traffic whose producers never wait: each goes round the stream, adding
// as fast as the queue takes it, as the watchers of a busy system do. What does
// not find a consumer in time piles up, until every key is in the queue; further
// adds are merged. The queue is shut down in the end.
func Open[T comparable](q Queue[T], stream Stream[T], load Load) Traffic {
	batch := batchSize
	if len(stream) == 1 {
		batch = 1 // one key goes slowly from hand to hand
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

// Closed is traffic in which every key is in one place: in the queue, or with
// someone who is about to add it. Consumers hand the keys that are done back to
// the producers, so nothing is ever merged, and every Add is paid for by an item
// that goes all the way. There must be more keys than [batchSize] for each
// consumer and producer, since that many linger there. All keys are in the queue
// at the start. The queue is shut down in the end.
func Closed[T comparable](q Queue[T], keys []T, load Load) Traffic {
	r := newRun(q, load, batchSize)
	AddAll(q, keys)
	free := make(chan [batchSize]T, len(keys)/batchSize) // room for all: sending never blocks
	r.produceFrom(free, func(items []T) { AddAll(q, items) })
	return r.finish(func(done []T) { free <- [batchSize]T(done) })
}

// produceFrom starts producers that add what has become free.
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

// Batches is [Closed] by batches of [batchSize] items: producers add, and consumers take
// and end, so many with one call.
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
