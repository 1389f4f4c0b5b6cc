package shard

import (
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/line"
)

// A throttleCount counts the throttled groups of a set, and its changes, in one
// word, and those of them that are paused. A reader that finds the same word twice
// knows that no group was throttled or freed between: see mayLeave.
type throttleCount struct {
	word   atomic.Uint64
	paused atomic.Int32
}

// oneChange counts in the half of the word above the count.
const oneChange = 1 << 32

// add is called under the lock of the shard whose groups have changed. The number
// of paused groups is never too great beside the word.
func (t *throttleCount) add(c line.Changes) {
	if c.Paused < 0 {
		t.paused.Add(c.Paused)
	}
	t.word.Add(uint64(c.Count)*oneChange + uint64(int64(c.Throttled)))
	if c.Paused > 0 {
		t.paused.Add(c.Paused)
	}
}

func (t *throttleCount) read() (word uint64, count uint32) {
	word = t.word.Load()
	return word, uint32(word)
}

func (t *throttleCount) noneSince(before uint64) bool {
	word, _ := t.read()
	return word == before
}

// The driver ends the waits of groups, and of the gate. They are apart from the
// shards' next, because a shutdown ends delays, but not waits.

func newWaits(shards int) []atomic.Uint64 {
	waits := make([]atomic.Uint64, shards)
	for i := range waits {
		waits[i].Store(never)
	}
	return waits
}

func (d *driver) earliestWait() uint64 {
	earliest := d.set.gate.opens.Load()
	for i := range d.set.waits {
		earliest = min(earliest, d.set.waits[i].Load())
	}
	return earliest
}

// endWaitsDue opens the gate, too, and reports whether any wait was over.
func (d *driver) endWaitsDue(at reading) (any bool) {
	for i := range d.set.waits {
		if d.set.waits[i].Load() <= at.now {
			any = true
			d.set.publish(d.set.shard(i).endWaits(at))
		}
	}
	if opens := d.set.gate.opens.Load(); opens <= at.now && d.set.gate.opens.CompareAndSwap(opens, never) {
		any = true
		d.set.wake()
	}
	return any
}

func (sh *shard) endWaits(at reading) (fx effects) {
	sh.lock()
	defer sh.unlock()
	if sh.line.EndWaits(at.now, at.nanoseconds, stepsPerHold) {
		fx = wakes
	}
	sh.show()
	if sh.table != nil {
		sh.releaseIfDue()
	}
	return fx | sh.reportsDue()&^files // the caller is the driver
}
