package harness

import (
	"runtime"
)

// C8: what a drained queue keeps. A new one takes 8 KiB at most, and may keep twice
// that, and a constant, within a bounded number of further operations; tides are
// those. Tables of moderate size are given back after so many emptyings that fewer
// than 128 cells are left in a shard after these.
const (
	tidesPerShard = 256
	keptConstant  = 128 << 10
	keptPerShard  = 8 << 10
)

// tides are further operations, a few keys at a time.
func (r *round) tides(a *actor) {
	for key := range r.plan.Keys {
		attempt(func() { r.queue.Forget(key) })
	}
	for range tidesPerShard * r.plan.Shards / 8 {
		for range 8 {
			key := a.roll(r.plan.Keys)
			if r.ledger == nil || classOf(key) == free {
				a.add(opAdd, key, 0)
			}
		}
		for r.queue.Len() > 0 {
			runtime.Gosched()
		}
	}
	for !r.atRest() && !r.violated.stopped.Load() {
		breathe()
	}
}

// checkMemory drops the queue, and sees what that sets free.
func (r *round) checkMemory() {
	with := heap()
	r.queue = nil
	kept := int64(with) - int64(heap())
	if most := int64(2*8<<10 + keptConstant + keptPerShard*r.plan.Shards); kept > most {
		r.violated.report("C8", -1, "at rest, the queue keeps %d bytes; at most %d are allowed", kept, most)
	}
}

// heap returns the bytes of live objects.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
