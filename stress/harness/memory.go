package harness

import (
	"fmt"
	"runtime"
	"time"
)

// C8: a drained queue keeps at most twice the memory of a new one and a small
// constant, within a bounded number of further operations, the cycles. A table
// of moderate size is released when it has become empty n times, where n times
// its cells is 1<<15. One round in four has enough cycles for that, unless it
// has very many shards. The others may keep cells in inverse proportion to
// their cycles.
const (
	patience     = 1 << 15
	fewestCells  = 16 // in a shard, with any number of cycles
	mostCells    = 128
	bytesPerCell = 80 // entry, index slots, timer, and columns for age, limit and priorities
	keptConstant = 32 << 10
	mostCycles   = 16 * patience / fewestCells // in a round, for all shards
)

// The memory that priorities may keep: a bitmap for each 64 shards, and a few
// levels in each shard.
const (
	bytesPerBitmap = 8 << 10
	bytesPerLevels = 3 << 9
)

// bytesPerGroup is the memory that a cell may keep with groups. Each key of the
// opening has its own group: a name, its index slots, a state, and a number in
// a column.
const bytesPerGroup = 200

// bytesPerMeasures is the memory that a shard keeps for metrics: the pages of
// three histograms.
const bytesPerMeasures = 10 << 10

// cycleAdds returns the number of adds in the cycles of each shard, which is
// about how often the shard becomes empty.
func (p Plan) cycleAdds() int {
	few, many := patience/mostCells, patience/fewestCells
	if p.Seed%4 > 0 {
		return few
	}
	return max(few, min(many, mostCycles/p.Shards))
}

// mostKept returns the memory that the queue may keep.
func (r *round) mostKept() int64 {
	most := 2*r.fresh + keptConstant
	cells := patience / r.plan.cycleAdds()
	if cells > fewestCells {
		most += int64(cells * bytesPerCell * r.plan.Shards)
	}
	if r.plan.Mix.Has(Priorities) {
		most += int64((r.plan.Shards+63)/64*bytesPerBitmap + r.plan.Shards*bytesPerLevels)
	}
	if r.plan.Mix.Has(Groups) {
		most += int64(cells * bytesPerGroup * r.plan.Shards)
	}
	if r.plan.Mix.Has(Metrics) {
		most += int64(bytesPerMeasures * r.plan.Shards)
	}
	return most
}

// cycles makes further operations, a few keys at a time: the fewer shards, the
// fewer, so that a shard becomes empty about as often as it gets an item.
func (r *round) cycles(a *actor) {
	for key := range r.plan.Keys {
		a.asked.forgets++
		attempt(func() { r.queue.Forget(key) })
	}
	few := max(1, min(8, r.plan.Shards/2))
	for range r.plan.cycleAdds() * r.plan.Shards / few {
		for range few {
			a.put(a.roll(r.plan.Keys)&^2, false) // a free key
		}
		for !r.atRest() && !r.violated.stopped.Load() {
			runtime.Gosched()
		}
	}
}

// cyclesAfterOpening makes the cycles of an opening, which may have filled a
// capacity. The keys of a plan with few keys or groups are in some shards only,
// and later cycles do not reach the others.
func (o opening) cyclesAfterOpening() {
	if o.plan.Ending != Rest || !o.features.Control {
		return
	}
	for range 2 * o.plan.cycleAdds() * o.plan.Shards {
		if o.violated.stopped.Load() {
			return
		}
		o.add(opAdd, o.first+o.roll(4096), 0)
		o.end(o.take())
	}
}

// checkMemory drops the queue, and checks how much memory that releases.
func (r *round) checkMemory() {
	r.forgetClaims()
	r.page = nil // it remembers the items that it showed last
	with := heap()
	r.queue = nil
	kept := int64(with) - int64(heap())
	runtime.KeepAlive(r) // keeps the limiter alive, too
	if most := r.mostKept(); kept > most {
		r.violated.report("C8", -1, "at rest, the queue keeps %d bytes; the limit is %d", kept, most)
	}
}

// mostLeft is the memory that the runtime itself may keep after all rounds.
const mostLeft = 1 << 20

// leftOver compares the heap before the first queue was made with the heap
// after a queue and all of its records were dropped: nothing of the queue may
// be left (C7, C8).
func leftOver(before, after uint64) *Violation {
	left := int64(after) - int64(before)
	if left <= mostLeft {
		return nil
	}
	return &Violation{Clause: "C8", Key: -1, Message: fmt.Sprintf("%d bytes are left of queues that were dropped; the limit is %d", left, mostLeft)}
}

// heap returns the bytes of live objects.
func heap() uint64 {
	runtime.GC()
	return collected() // the first collection empties pools, the second frees their contents
}

// settled returns heap once it is not above the limit, or after a while.
// Delayed items of small queues without references are freed only after their
// delay.
func settled(most uint64) (now uint64) {
	for range 20 {
		if now = heap(); now <= most {
			break
		}
		time.Sleep(longestDelay)
	}
	return now
}

// collected returns the live heap, with what pools hold in half of the calls.
func collected() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
