package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

const burstText = `One goroutine adds ten million keys (uint64) that no consumer takes, and then
takes them all. A prober repeats Add, Get and Done meanwhile, so that growing
and shrinking would show as a long call. Then the keys are added once more to a
queue that no other goroutine uses. controller-runtime's queue is not tried: its
ten million would take several GiB.`

func burst(b *bench, t target) *figures {
	if t.engine == controllerRuntime {
		return newFigures(t)
	}
	it := numbers(b.count(10_000_000))
	f := fillAndDrain(t, it)
	grow(f, it.keys)
	return f
}

// grow adds all keys to a queue that no other goroutine uses, so that the queue
// does its own work at the same key in every round.
func grow(f *figures, keys []uint64) {
	q := newQueue[uint64](f.target, setup{})
	defer q.ShutDown()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rows := make([]time.Duration, 0, len(keys)/inARow+1) // growing would take time of its own
	watch := startThreadWatch()
	for row := range slices.Chunk(keys, inARow) {
		workload.AddAll(q, row)
		rows = append(rows, watch.lap())
	}
	f.steps(fmt.Sprintf("the slowest %d Adds, each in its fastest round, alone", inARow), rows)
}

// fillAndDrain adds all items to a queue, and then takes them.
func fillAndDrain[T cmp.Ordered](t target, it items[T]) *figures {
	tr := newTrial(t, timeSource{}, timeSource{}, it)
	defer tr.idle.ShutDown()
	tr.fill()
	tr.full()
	tr.drain()
	tr.highest(0)
	tr.accountFor()
	tr.returned()
	return tr.figures
}
