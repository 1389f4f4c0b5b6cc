// Package hold has the unacknowledged messages of a partition's owner.
package hold

import (
	"cmp"
	"slices"
	"sync"
)

// A Message is a message with its place in the stream.
type Message[M any] struct {
	Sequence uint64
	Message  M
}

// A Table has messages by key. All methods are safe for concurrent use.
type Table[K comparable, M any] struct {
	every bool // a run serves every message

	mu     sync.Mutex
	keys   map[K]*entry[M]
	closed bool
}

type entry[M any] struct {
	waiting, running []Message[M] // by their places in the stream
	canceled         bool         // those that run: no other run serves them
}

// New returns an empty table. With every, a run serves every message of its
// key, and otherwise only the newest.
func New[K comparable, M any](every bool) *Table[K, M] {
	return &Table[K, M]{every: every, keys: map[K]*entry[M]{}}
}

// Add adds a message, and reports whether it waits for a run. It returns the
// messages that a newer one replaces.
func (t *Table[K, M]) Add(key K, m Message[M]) (replaced []Message[M], waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false
	}
	e := t.keys[key]
	if e == nil {
		e = &entry[M]{}
		t.keys[key] = e
	}
	if n := len(e.running); n > 0 && m.Sequence <= e.running[n-1].Sequence {
		return nil, false
	}
	at, again := slices.BinarySearchFunc(e.waiting, m, bySequence[M])
	switch {
	case again:
		e.waiting[at] = m // the server waits for the answer to the last delivery
	case !t.every && at < len(e.waiting):
		return []Message[M]{m}, true // a newer one is here
	case !t.every:
		replaced, e.waiting = e.waiting, []Message[M]{m}
	default:
		e.waiting = slices.Insert(e.waiting, at, m)
	}
	return replaced, true
}

func bySequence[M any](a, b Message[M]) int { return cmp.Compare(a.Sequence, b.Sequence) }

// Begin takes the messages of a key for a run, unless a run serves the key.
func (t *Table[K, M]) Begin(key K) []Message[M] {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.keys[key]
	if t.closed || e == nil || len(e.running) > 0 || len(e.waiting) == 0 {
		return nil
	}
	e.running, e.waiting, e.canceled = e.waiting, nil, false
	return e.running
}

// End ends a run, and reports whether it is done or was canceled. Otherwise its
// messages wait for the next run.
func (t *Table[K, M]) End(key K, done bool) (isDone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.keys[key]
	if isDone = done || e.canceled; !isDone {
		e.waiting = append(e.running, e.waiting...)
	}
	if e.running = nil; len(e.waiting) == 0 {
		delete(t.keys, key)
	}
	return isDone
}

// IsCanceled reports whether the run of a key was canceled.
func (t *Table[K, M]) IsCanceled(key K) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys[key].canceled
}

// Cancel removes the messages of a key that wait for a run, up to a place in the
// stream, and returns them. It cancels a run that serves no later ones.
func (t *Table[K, M]) Cancel(key K, upTo uint64) (canceled []Message[M]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.keys[key]
	if e == nil {
		return nil
	}
	if n := len(e.running); n > 0 && e.running[n-1].Sequence <= upTo {
		e.canceled = true
	}
	for len(e.waiting) > 0 && e.waiting[0].Sequence <= upTo {
		canceled, e.waiting = append(canceled, e.waiting[0]), e.waiting[1:]
	}
	if len(e.waiting)+len(e.running) == 0 {
		delete(t.keys, key)
	}
	return canceled
}

// Close makes Add and Begin fail. Only the first call returns the keys: by the
// next call, their node may own them once more.
func (t *Table[K, M]) Close() (keys []K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	for key := range t.keys {
		keys = append(keys, key)
	}
	return keys
}

func (t *Table[K, M]) Messages() (all []Message[M]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.keys {
		all = append(append(all, e.running...), e.waiting...)
	}
	return all
}

func (t *Table[K, M]) Holds(sequence uint64) bool {
	return slices.ContainsFunc(t.Messages(), func(m Message[M]) bool { return m.Sequence == sequence })
}

func (t *Table[K, M]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.keys)
}
