package main

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func allocations(r *report) {
	few := workload.Shuffled(workload.Strings(r.scale.trafficKeys[0]))
	stream := workload.Uniform(few)
	works := []comparison{
		allocating("serial cycle", "Cycle", few, func(q workload.DelayingQueue[string]) func(int) {
			return func(items int) { workload.Cycle(q, stream, items) }
		}),
		allocating("serial cycle beside a backlog", "Rotate", few, func(q workload.DelayingQueue[string]) func(int) {
			workload.AddAll(q, few)
			return func(items int) { workload.Rotate(q, items) }
		}),
		allocating("AddAfter of a delayed item", "AddAfter", few, func(q workload.DelayingQueue[string]) func(int) {
			delayed := workload.NewDelayedKeys(q, few)
			return func(items int) { delayed.Reschedule(items) }
		}),
	}
	var outcomes []outcome
	for _, c := range works {
		outcomes = append(outcomes, inRounds(c, 1))
	}
	r.section("Allocations", `Allocations for each item in the steady state: the queue has seen its keys before.`)
	r.tableWithoutRatios("allocations for each item", outcomes...)
}

// allocating counts the allocations of work that has been running for a while.
func allocating(title, name string, keys []string, prepare func(workload.DelayingQueue[string]) func(items int)) comparison {
	return comparison{
		name:  "Allocations/do=" + name,
		title: title + ", allocations",
		unit:  "allocs/item",
		subjects: subjects(measured[string](), len(keys), func(e workload.Engine[string]) float64 {
			q := e.New().(workload.DelayingQueue[string])
			defer q.ShutDown()
			work := prepare(q)
			work(len(keys))
			before := mallocs()
			work(len(keys))
			return roundToThousandths(float64(mallocs()-before) / float64(len(keys)))
		}),
	}
}

func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

// roundToThousandths removes what the runtime allocates now and then.
func roundToThousandths(x float64) float64 { return math.Round(x*1000) / 1000 }

func memory(r *report) {
	r.section("Memory", memoryText)
	var perItem, retained []outcome
	for _, n := range r.scale.memoryItems {
		ready, left := heapOfReady(n)
		perItem = append(perItem, ready, heapOfDelayed(n))
		retained = append(retained, left)
	}
	r.table("bytes of heap for each item", r.note(perItem...)...)
	r.tableWithoutRatios("bytes of heap that the empty queue retains", retained...)
}

const memoryText = `Heap in use after a collection, with the queue full, less that without the
queue, divided by the number of items. The keys are strings made beforehand:
their bytes do not count, their headers of 16 bytes in the queue do. Measured
once, because it does not depend on the moment. *Floor* keeps the keys in ring
buffers, and a word of 8 bytes for each, both in powers of two: so full, or half
empty. *Retained* is still in use when all items have gone through Get and Done.`

// heapOfReady returns the bytes for each item, and the bytes that are retained
// in the end.
func heapOfReady(n int) (ready, retained outcome) {
	keys := workload.Strings(n)
	retained = outcome{values: map[string][]float64{}}
	retained.title = suite.Count(n) + " items done"
	c := comparison{
		name:  "Memory/state=ready/items=" + suite.Count(n),
		title: fmt.Sprintf("heap per ready item, %s items", suite.Count(n)),
		unit:  "B/item",
		subjects: subjects(memoryEngines(n), n, func(e workload.Engine[string]) float64 {
			use := workload.HeapOfReady(e.New, keys)
			retained.values[engineName(e.Name, e.Shards)] = []float64{use.Retained}
			return use.PerItem
		}),
		floors: heapFloors(n, 1.55),
	}
	retained.subjects = c.subjects
	return inRounds(c, 1), retained
}

func heapOfDelayed(n int) outcome {
	keys := workload.Strings(n)
	return inRounds(comparison{
		name:  "Memory/state=delayed/items=" + suite.Count(n),
		title: fmt.Sprintf("heap per delayed item, %s items", suite.Count(n)),
		unit:  "B/item",
		subjects: subjects(memoryEngines(n), n, func(e workload.Engine[string]) float64 {
			return workload.HeapOfDelayed(e.New, keys)
		}),
		floors: heapFloors(n, 1.75),
	}, 1)
}

func memoryEngines(items int) []workload.Engine[string] {
	engines := measured[string]()
	if items > 1_000_000 {
		engines = essential[string]()
	}
	return append(engines, floors[string](items)[0])
}

// heapFloors returns floors for a number of items, if it is so large that the
// memory of an empty queue does not count.
func heapFloors(items int, atLeast float64) []floor {
	if items < 1_000_000 {
		return nil
	}
	return []floor{{subject: defaultShardq, atLeast: atLeast, bench: theFloor}}
}

func collector(r *report) {
	n := r.scale.memoryItems[len(r.scale.memoryItems)-1]
	t := table{
		Caption: fmt.Sprintf("ms for a collection beside %s ready items", suite.Count(n)),
		Header:  []string{"engine", "uint64 keys: elapsed", "marking", "string keys: elapsed", "marking"},
	}
	integers := collections(r, essential[uint64](), workload.Integers(n))
	strings := collections(r, essential[string](), workload.Strings(n))
	for i, e := range append(essential[uint64](), nothing[uint64]()) {
		row := []string{engineName(e.Name, e.Shards)}
		for _, cost := range []workload.Collection{integers[i], strings[i]} {
			row = append(row, inMilliseconds(cost.Elapsed), inMilliseconds(cost.Marking))
		}
		t.Rows = append(t.Rows, row)
	}
	r.section("The garbage collector", collectorText)
	r.addTable(t)
}

const collectorText = `A collection while the queue is full: how long it takes, and the processor time
of marking on all cores. Where neither the keys nor the queue's memory have
pointers, a queue costs the collector nothing, whatever the number of its items.
Strings are pointers: the last row is the keys alone, without a queue.`

// collections measures the engines one after the other, and last the keys
// alone.
func collections[T comparable](r *report, engines []workload.Engine[T], keys []T) (costs []workload.Collection) {
	for _, e := range append(engines, nothing[T]()) {
		workload.Collect()
		q := e.New()
		costs = append(costs, workload.CollectionWith(q, keys, r.scale.collections))
		q.ShutDown()
	}
	return costs
}

func inMilliseconds(d time.Duration) string { return figure(float64(d) / float64(time.Millisecond)) }

// nothing returns the engine of queues that hold nothing.
func nothing[T comparable]() workload.Engine[T] {
	return workload.Engine[T]{
		Name: "keys alone",
		New:  func() workload.Queue[T] { return noQueue[T]{} },
	}
}

type noQueue[T comparable] struct{}

func (noQueue[T]) Add(T)                        {}
func (noQueue[T]) Get() (item T, shutdown bool) { return item, true }
func (noQueue[T]) Done(T)                       {}
func (noQueue[T]) Len() int                     { return 0 }
func (noQueue[T]) ShutDown()                    {}
