package shard

import (
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/line"
)

// A throttleCount counts the throttled groups and the changes of that number,
// in one word, and how many of the groups are paused. A reader that finds the
// same word twice knows that no group was throttled or freed between: see
// mayLeave.
type throttleCount struct {
	word   atomic.Uint64
	paused atomic.Int32
	waits  []atomic.Uint64 // when each shard has to review a group, or never; nil without groups
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
