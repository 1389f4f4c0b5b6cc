// Package member has the members of a queue: the nodes that work.
package member

import (
	"slices"
	"sync"
	"time"
)

// A Table has the members that were heard of lately. All methods are safe for
// concurrent use.
type Table struct {
	// forget is the time without a heartbeat after which a member is gone.
	forget time.Duration

	mu   sync.Mutex
	seen map[string]time.Time
}

// NewTable returns a table without members.
func NewTable(forget time.Duration) *Table {
	return &Table{forget: forget, seen: map[string]time.Time{}}
}

// Heard notes a heartbeat. It reports whether the member is new.
func (t *Table) Heard(id string, now time.Time) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.seen[id]
	t.seen[id] = now
	return !known
}

// Left removes a member, and reports whether it was there.
func (t *Table) Left(id string) (was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, was = t.seen[id]
	delete(t.seen, id)
	return was
}

// Members returns the members in order, without those that are gone.
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
