package shardq

import (
	"slices"
	"sync"
)

// A workforce is the workers that are at work on a queue in a Run: it tells those who look which
// of them has an item in hand.
type workforce[T comparable] struct {
	mu    sync.Mutex
	desks []*desk[T]
	// hired counts the workers that there ever were.
	hired int
}

// A desk shows what a worker has in hand.
type desk[T comparable] struct {
	workforce *workforce[T]
	number    int
	mu        sync.Mutex // a leaf, as a rule free: only those who look contend for it
	inHand    []T
}

// newDesk returns a desk for another worker.
func (f *workforce[T]) newDesk() *desk[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hired++
	d := &desk[T]{workforce: f, number: f.hired}
	f.desks = append(f.desks, d)
	return d
}

// clear takes away the desk of a worker that leaves.
func (d *desk[T]) clear() {
	f := d.workforce
	f.mu.Lock()
	defer f.mu.Unlock()
	f.desks = slices.DeleteFunc(f.desks, func(other *desk[T]) bool { return other == d })
}

func (f *workforce[T]) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.desks)
}

// show notes what the worker has in hand: nothing, if there are no items.
func (d *desk[T]) show(items []T) {
	d.mu.Lock()
	clear(d.inHand)
	d.inHand = append(d.inHand[:0], items...)
	d.mu.Unlock()
}

// label writes the workers' numbers into the rows of what they have in hand.
func (f *workforce[T]) label(rows []ItemInfo[T]) {
	f.mu.Lock()
	desks := slices.Clone(f.desks)
	f.mu.Unlock()
	if len(desks) == 0 || len(rows) == 0 {
		return
	}
	numbers := make(map[T]int)
	for _, d := range desks {
		for _, item := range d.shown() {
			numbers[item] = d.number
		}
	}
	for i := range rows {
		rows[i].Worker = numbers[rows[i].Item]
	}
}

func (d *desk[T]) shown() []T {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.inHand)
}

// A coalescerDesk shows the keys of what a worker has in hand.
type coalescerDesk[K comparable, V any] struct{ *desk[K] }

func (d coalescerDesk[K, V]) show(items []Pending[K, V]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.inHand)
	d.inHand = d.inHand[:0]
	for i := range items {
		d.inHand = append(d.inHand, items[i].Key)
	}
}
