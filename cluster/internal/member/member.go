// Package member has the members of a queue: the nodes that work.
package member

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A Table has the live members. All methods are safe for concurrent use.
type Table struct {
	forget time.Duration // without a heartbeat
	mu     sync.Mutex
	seen   map[string]time.Time
}

func NewTable(forget time.Duration) *Table {
	return &Table{forget: forget, seen: map[string]time.Time{}}
}

func (t *Table) Heard(id string, now time.Time) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.seen[id]
	t.seen[id] = now
	return !known
}

func (t *Table) Left(id string) (was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, was = t.seen[id]
	delete(t.seen, id)
	return was
}

// Members returns the ids in order.
func (t *Table) Members(now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id, seen := range t.seen {
		if now.Sub(seen) > t.forget {
			delete(t.seen, id)
		} else {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Owner returns the member with the greatest hash of its id and the partition
// (rendezvous hashing): a change of members moves only their own partitions.
func Owner(members []string, partition int) (owner string) {
	var greatest uint64
	for _, id := range members {
		h := xxhash.Sum64(append(binary.LittleEndian.AppendUint64(nil, uint64(partition)), id...))
		if owner == "" || h > greatest || h == greatest && id > owner {
			owner, greatest = id, h
		}
	}
	return owner
}
