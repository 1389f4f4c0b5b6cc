// Package recent keeps the last of many values.
package recent

import "sync"

// A Ring keeps the last values that were added, at most as many as its limit.
// It allocates nothing before the first. Add and Last are safe for concurrent
// use. They are no methods, for the reason that a chunked.Array has none.
type Ring[V any] struct {
	mu     sync.Mutex // a leaf
	values []V
	next   int // the place of the next value, if the ring is full
}

// Add adds a value. If the ring has limit values, the oldest one makes room.
// Every call must have the same limit.
func Add[V any](r *Ring[V], value V, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.values) < limit {
		r.values = append(r.values, value)
		return
	}
	r.values[r.next] = value
	r.next = (r.next + 1) % limit
}

// Last returns at most limit values, the newest first.
func Last[V any](r *Ring[V], limit int) []V {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := max(0, min(limit, len(r.values)))
	last := make([]V, 0, n)
	for i := range n {
		newest := r.next - 1 - i + 2*len(r.values)
		last = append(last, r.values[newest%len(r.values)])
	}
	return last
}
