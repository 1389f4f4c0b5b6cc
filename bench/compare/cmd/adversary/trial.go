package main

import (
	"cmp"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// A trial passes the items of a case through a queue, and records the figures.
type trial[T cmp.Ordered] struct {
	*figures
	items items[T]
	// queue is attacked. idle is another of the same kind, with which probers
	// compare it.
	queue, idle queue[T]
	// taken are the items that were handed out, without probes. Only one
	// goroutine may call take.
	taken []T
	// handedOut is len(taken), for other goroutines.
	handedOut atomic.Int64

	peak *peak
	// before is the heap before the queue was made. fresh is the heap that the
	// queue then took.
	before, fresh float64
}

// newTrial makes two queues, with time sources that nothing else uses.
func newTrial[T cmp.Ordered](t target, times, idleTimes timeSource, it items[T]) *trial[T] {
	tr := &trial[T]{
		figures: newFigures(t),
		items:   it,
		idle:    newQueue[T](t, setup{time: idleTimes}),
		taken:   make([]T, 0, len(it.keys)),
	}
	tr.before = liveHeap()
	tr.queue = newQueue[T](t, setup{time: times})
	tr.fresh = liveHeap() - tr.before
	tr.peak = watchPeak()
	return tr
}

// probed does some work while probers measure how long the queue makes others
// wait.
func (tr *trial[T]) probed(name string, probes map[string]probe[T], work func()) {
	probers := map[string]*prober[T]{}
	for methods, probe := range probes {
		if methods != cycle && tr.target.engine == controllerRuntime {
			// Controller-runtime's queue accepts adds into a buffer without
			// bounds, and empties it before it hands out an item. A prober that
			// only adds stops it.
			continue
		}
		keys := tr.items.probes
		if methods == addAfter {
			keys = tr.items.delayed
		}
		probers[methods] = startProber(tr.queue, tr.idle, keys, probe)
	}
	work()
	for _, methods := range []string{cycle, add, addAfter} {
		if p := probers[methods]; p != nil {
			p.stop()
			tr.calls(name+": "+methods+" by others", p.others)
			tr.calls(name+": "+methods+" on an idle queue", p.floor)
		}
	}
}

// These are the methods that probers call.
const (
	cycle    = "Add, Get, Done"
	add      = "Add"
	addAfter = "AddAfter"
)

// take records an item that was handed out.
func (tr *trial[T]) take(item T) {
	if !tr.items.isProbe(item) {
		tr.taken = append(tr.taken, item)
		tr.handedOut.Add(1)
	}
}

// fill adds all items, while a prober makes cycles of its own.
func (tr *trial[T]) fill() {
	added := 0
	tr.probed("filling", map[string]probe[T]{cycle: probeCycle(tr.take)}, func() {
		tr.inRows("Add", func() bool { return added < len(tr.items.keys) }, func() {
			tr.queue.Add(tr.items.keys[added])
			added++
		})
	})
}

// drain takes all items, while a prober adds.
func (tr *trial[T]) drain() {
	tr.probed("draining", map[string]probe[T]{add: probeAdd[T]}, func() {
		tr.inRows("Get and Done", func() bool { return len(tr.taken) < len(tr.items.keys) }, func() {
			tr.getAndDone()
		})
	})
	tr.empty()
}

// inARow is the number of operations that are timed together, so that the
// timing costs little.
const inARow = 64

// inRows does something while there is more to do. It records the time of one
// operation, and the processor time of inARow operations. None of them held a
// lock for longer, except for the time in which the machine did something else.
func (tr *trial[T]) inRows(name string, more func() bool, do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rows, n := new(latencies), 0
	start := time.Now()
	for watch := startThreadWatch(); more(); rows.add(watch.lap()) {
		for i := 0; i < inARow && more(); i++ {
			do()
			n++
		}
	}
	tr.each(name+", each", time.Since(start), max(n, 1))
	tr.calls(fmt.Sprintf("%s, %d in a row, processor time", name, inARow), rows)
}

// empty takes the items that probers left.
func (tr *trial[T]) empty() {
	for tr.queue.Len() > 0 {
		tr.getAndDone()
	}
}

func (tr *trial[T]) getAndDone() (item T) {
	item, _ = tr.queue.Get()
	tr.take(item)
	tr.queue.Done(item)
	return item
}

// full records the memory that the queue holds.
func (tr *trial[T]) full() {
	tr.add("heap when full, for each item", bytes, (liveHeap()-tr.before)/float64(len(tr.items.keys)))
}

const (
	// laterCycles is the bounded number of operations within which memory must
	// be released: 3,000 for each of 32 shards, and some.
	laterCycles = 100_000
	// constantOfC8 is the constant in "at most twice what a fresh queue uses
	// plus a small constant".
	constantOfC8 = 32 << 10
)

// highest records the greatest heap, without that number of bytes of keys.
func (tr *trial[T]) highest(keys int) {
	tr.add("heap at its highest", bytes, tr.peak.stop()-tr.before-float64(keys))
}

// returned records the heap that the idle queue still holds, and shuts it down.
// shardq promises to hold little.
func (tr *trial[T]) returned() {
	workload.Cycle(tr.queue, workload.Stream[T](tr.items.probes), laterCycles)
	with := liveHeap()
	tr.shutDown()
	tr.bounded("C8", "heap retained when idle again", bytes, 2*tr.fresh+constantOfC8, max(0, with-liveHeap()))
}

// accountFor records whether every item was handed out once.
func (tr *trial[T]) accountFor() {
	tr.bounded("C1, C2", "items lost, or handed out twice", count, 0, float64(tr.items.strays(tr.taken)))
}

// shutDown ends the attacked queue and drops it.
func (tr *trial[T]) shutDown() {
	tr.queue.ShutDown()
	tr.queue = nil
	time.Sleep(afterwards)
}

// afterwards is the time in which the goroutines of a queue must end.
const afterwards = 20 * time.Millisecond

// stop ends the trial of a queue that takes too long for a piece of the work.
func (tr *trial[T]) stop(piece string, limit time.Duration) *figures {
	tr.wasStopped(piece, limit)
	tr.highest(0)
	tr.shutDown()
	return tr.figures
}
