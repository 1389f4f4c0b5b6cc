package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

// delaying returns the engines that have delays.
func delaying[T comparable]() []workload.Engine[T] {
	slow := compare.GoZero[T]()
	slow.MaxKeys = 100_000
	return append(measured[T](), compare.ControllerRuntime[T](), compare.AfterFunc[T](), slow)
}

func rescheduling(r *report) {
	r.section("AddAfter beside delayed items", reschedulingText)
	lines := newCurves()
	var outcomes []outcome
	for _, beside := range r.scale.beside {
		o := r.compare(reschedule(r, beside))
		outcomes = append(outcomes, o)
		lines.add(float64(max(beside, 1)), o)
	}
	r.table("ns for each AddAfter", outcomes...)
	r.plot("delayed.svg", "AddAfter against delayed items", figureAxes{
		X: "delayed items", Y: "ns for each AddAfter",
	}, lines)
}

const reschedulingText = `One goroutine calls AddAfter for items that are delayed already, one after the
other, and moves each deadline forward a little, so that no call can be ignored.
*0 delayed* is one item alone: its deadline is the earliest of all each time, so
every call moves the timer of the queue. client-go and the baseline only put the
call into a channel, from which one goroutine takes it. controller-runtime's
queue only appends it to a buffer, which another goroutine processes, so that
not all of its work is in these times. *time.AfterFunc* is a map of timers under
a mutex. go-zero's wheel is measured up to 100k. *AddBatchAfter* is shardq with
64 items in a call, which all get the same deadline. *Floor* reads the clock,
takes a lock and writes a line, and with *0 delayed* moves a timer of the
runtime each time (` + "`bench/floor`" + `).`

func reschedule(r *report, beside int) comparison {
	keys := workload.Strings(max(beside, 1))
	measure := func(e workload.Engine[string]) float64 {
		q := e.New().(workload.DelayingQueue[string])
		defer q.ShutDown()
		delayed := workload.NewDelayedKeys(q, keys)
		runtime.GC()
		return perItem(delayed.Reschedule(r.scale.reschedules), r.scale.reschedules)
	}
	c := comparison{
		name:     "AddAfter/delayed=" + suite.Count(beside),
		title:    fmt.Sprintf("AddAfter, %s delayed", suite.Count(beside)),
		unit:     "ns/item",
		subjects: subjects(append(delaying[string](), floors[string](len(keys))[0]), beside, measure),
	}
	if beside > 0 {
		c.subjects = append(c.subjects, rescheduleBatches(r, keys)...)
	}
	switch beside {
	case 0:
		c.floors = []floor{{subject: defaultShardq, atLeast: 1, bench: theFloor}}
	case 1_000_000:
		c.floors = []floor{
			{subject: defaultShardq, atLeast: 3, bench: theFloor},
			{subject: batchesAfter, atLeast: 5, bench: floorBatches},
		}
	}
	return c
}

// batchesAfter is the subject that calls AddBatchAfter.
const batchesAfter = "AddBatchAfter"

// rescheduleBatches measures AddBatchAfter, with 64 items in a call.
func rescheduleBatches(r *report, keys []string) []subject {
	engines := []workload.Engine[string]{engine.Shardq[string](engine.DefaultShards()), floors[string](len(keys))[0]}
	both := subjects(engines, len(keys), func(e workload.Engine[string]) float64 {
		q := e.New().(workload.DelayingBatchQueue[string])
		defer q.ShutDown()
		delayed := workload.NewDelayedBatches(q, keys)
		runtime.GC()
		return perItem(delayed.RescheduleBatches(r.scale.reschedules), r.scale.reschedules)
	})
	both[0].name, both[1].name = batchesAfter, floorBatches
	for i := range both {
		both[i].label += "/batch=64"
	}
	return both
}

func delayedCycle(r *report) {
	const within = 100 * time.Millisecond
	n := r.scale.delayed
	keys, delays := workload.Shuffled(workload.Strings(n)), workload.Delays(n, within)
	workers := runtime.GOMAXPROCS(0)
	c := comparison{
		name:  "DelayedCycle/items=" + suite.Count(n),
		title: fmt.Sprintf("delayed cycle, %s items within %v", suite.Count(n), within),
		unit:  "ns/item",
		subjects: subjects(append(measured[string](), compare.AfterFunc[string](), compare.GoZero[string](), floors[string](n)[0]), n,
			func(e workload.Engine[string]) float64 {
				q := e.New().(workload.DelayingQueue[string])
				return perItem(workload.DelayedCycle(q, keys, delays, workers), n)
			}),
	}
	if n == fullScale.delayed {
		c.floors = []floor{{subject: defaultShardq, atLeast: 5, bench: theFloor}}
	}
	r.section("The delayed cycle", fmt.Sprintf(delayedText, workers, workers, perItem(within, n)))
	r.table("ns for each item", r.compare(c))
}

const delayedText = `A new queue takes all items through AddAfter, the expiry of their delays, Get
and Done: %d goroutines add, %d consume. The time is from the first AddAfter to
the last Done. Since the delays reach 100 ms, no engine can be below %.0f ns.`

func lateness(r *report) {
	delays := workload.Delays(r.scale.lateItems, r.scale.lateWithin)
	lines := newCurves()
	t := table{
		Caption: "µs from the deadline to the return of Get",
		Header:  []string{"engine", "earliest", "half of all", "90 %", "99 %", "latest"},
	}
	engines := append(measured[uint64](), compare.ControllerRuntime[uint64](), compare.AfterFunc[uint64](), compare.GoZero[uint64]())
	for _, e := range engines {
		name := engineName(e.Name, e.Shards)
		late := latenessOf(r, e, delays)
		t.Rows = append(t.Rows, latenessRow(name, late))
		lines.Distribution(name, milliseconds(late))
	}
	r.section("Lateness", latenessText)
	r.addTable(t)
	r.plot("lateness.svg", "Lateness of delayed items", figureAxes{
		X: "ms after the deadline (logarithmic from 0.1)", Y: "share of items",
	}, lines)
}

const latenessText = `Items with delays spread over a second go through an otherwise idle queue, and
one consumer records how long after its deadline each is handed out. The clock
is read just before AddAfter. shardq's resolution is a tick, of a millisecond
unless an option says otherwise. It rounds up, so nothing is early, and items
are half a tick late on average. The slack of the runtime's timers is added to
that, which *time.AfterFunc* shows by itself. A negative time is an item that
was early.`

// latenessOf combines some runs, in increasing order.
func latenessOf(r *report, e workload.Engine[uint64], delays []time.Duration) (all []time.Duration) {
	for range min(r.scale.rounds, 3) {
		workload.Collect()
		late := workload.Lateness(e.New().(workload.DelayingQueue[uint64]), delays)
		fmt.Printf("BenchmarkLateness/engine=%s/shards=%d 1 %d ns/op\n", e.Name, e.Shards, workload.Quantile(late, 0.5))
		all = append(all, late...)
	}
	slices.Sort(all)
	return all
}

func latenessRow(name string, late []time.Duration) []string {
	row := []string{name}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
		row = append(row, figure(float64(workload.Quantile(late, q).Nanoseconds())/1000))
	}
	return row
}

func milliseconds(durations []time.Duration) []float64 {
	ms := make([]float64, len(durations))
	for i, d := range durations {
		ms[i] = float64(d) / float64(time.Millisecond)
	}
	return ms
}
