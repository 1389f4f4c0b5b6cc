package harness

import (
	"fmt"
	"runtime"
	"time"
)

// C8: what a drained queue keeps is at most twice what a new one uses and a small
// constant, within a bounded number of further operations; tides are those. A table of
// moderate size is given back when it has become empty so many times that this times its
// cells is 1<<15. One round in four has the tides for that, unless it has very many
// shards; the others may keep cells in inverse proportion to the tides that they have.
const (
	patience     = 1 << 15
	fewestCells  = 16 // in a shard, however many the tides
	mostCells    = 128
	bytesPerCell = 80 // an entry, its slots in the index, a timer, and an age, a limit and priorities in columns
	keptConstant = 32 << 10
	mostTides    = 16 * patience / fewestCells // in a round, for all shards
)

// What priorities may keep: a board for each 64 shards, and a few levels in each shard.
const (
	bytesPerBoard  = 8 << 10
	bytesPerLevels = 3 << 9
)

// bytesPerGroup is what a cell may keep where there are groups, and each key of the opening has
// one for itself: a name, its slots in an index, a state, and a number in a column.
const bytesPerGroup = 200

// bytesPerMeasures is what a shard keeps for metrics: the pages of three histograms.
const bytesPerMeasures = 10 << 10

// tidalAdds is how many adds there are in the tides of each shard, and so about how often
// it becomes empty.
func (p Plan) tidalAdds() int {
	few, many := patience/mostCells, patience/fewestCells
	if p.Seed%4 > 0 {
		return few
	}
	return max(few, min(many, mostTides/p.Shards))
}

// mostKept is what the queue may keep.
func (r *round) mostKept() int64 {
	most := 2*r.fresh + keptConstant
	cells := patience / r.plan.tidalAdds()
	if cells > fewestCells {
		most += int64(cells * bytesPerCell * r.plan.Shards)
	}
	if r.plan.Mix.Has(Priorities) {
		most += int64((r.plan.Shards+63)/64*bytesPerBoard + r.plan.Shards*bytesPerLevels)
	}
	if r.plan.Mix.Has(Groups) {
		most += int64(cells * bytesPerGroup * r.plan.Shards)
	}
	if r.plan.Mix.Has(Metrics) {
		most += int64(bytesPerMeasures * r.plan.Shards)
	}
	return most
}

// tides are further operations, a few keys at a time.
func (r *round) tides(a *actor) {
	for key := range r.plan.Keys {
		a.asked.forgets++
		attempt(func() { r.queue.Forget(key) })
	}
	for range r.plan.tidalAdds() * r.plan.Shards / 8 {
		for range 8 {
			a.put(a.roll(r.plan.Keys)&^2, false) // a free one
		}
		for r.queue.Len() > 0 && !r.violated.stopped.Load() {
			runtime.Gosched()
		}
	}
	for !r.atRest() && !r.violated.stopped.Load() {
		breathe()
	}
}

// ebb is the tides of an opening, which may have filled a capacity. The keys of a plan that has
// few, or groups of them, are in some shards only, and the tides to come do not reach the others.
func (o opening) ebb() {
	if o.plan.Ending != Rest || !o.features.Control {
		return
	}
	for range 2 * o.plan.tidalAdds() * o.plan.Shards {
		if o.violated.stopped.Load() {
			return
		}
		o.add(opAdd, o.first+o.roll(4096), 0)
		o.end(o.take())
	}
}

// checkMemory drops the queue, and sees what that sets free.
func (r *round) checkMemory() {
	r.forgetClaims()
	with := heap()
	r.queue, r.page = nil, nil
	kept := int64(with) - int64(heap())
	runtime.KeepAlive(r) // and with it the limiter
	if most := r.mostKept(); kept > most {
		r.violated.report("C8", -1, "at rest, the queue keeps %d bytes; at most %d are allowed", kept, most)
	}
}

// mostLeft is what may be left of all rounds in memory, by the runtime's own doing.
const mostLeft = 1 << 20

// leftOver compares the heap before the first queue was made with that after a queue and
// all that was done with it were dropped: a queue that is gone has nothing (C7, C8).
func leftOver(before, after uint64) *Violation {
	left := int64(after) - int64(before)
	if left <= mostLeft {
		return nil
	}
	return &Violation{Clause: "C8", Key: -1, Message: fmt.Sprintf("%d bytes are left of queues that were dropped; at most %d are allowed", left, mostLeft)}
}

// heap returns the bytes of live objects.
func heap() uint64 {
	runtime.GC()
	return collected() // what pools held in the first goes in the second
}

// settled is heap, once it is not above what is allowed, or after a while: what
// waits, in small queues that nobody refers to, is gone only after its delay.
func settled(most uint64) (now uint64) {
	for range 20 {
		if now = heap(); now <= most {
			break
		}
		time.Sleep(longestDelay)
	}
	return now
}

// collected is heap, and what pools hold, for half of the time.
func collected() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
