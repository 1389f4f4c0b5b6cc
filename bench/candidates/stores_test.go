package candidates

// A store keeps the items of one shard and their states. It is used under the
// shard's lock.
type store[T comparable] interface {
	// add and done report whether they put the item into the FIFO.
	add(item T, stamp uint64) (enqueued bool)
	done(item T, stamp uint64) (enqueued bool)
	// take returns the head of the FIFO, which is not empty.
	take() T
	head() (stamp uint64)
	length() int
}

// twoMaps is client-go's bookkeeping: a set of dirty items and a set of items
// in processing. An item takes seven map operations.
type twoMaps[T comparable] struct {
	dirty, processing map[T]struct{}
	fifo[T]
}

func newTwoMaps[T comparable]() store[T] {
	return &twoMaps[T]{dirty: map[T]struct{}{}, processing: map[T]struct{}{}}
}

func (m *twoMaps[T]) add(item T, stamp uint64) (enqueued bool) {
	if _, ok := m.dirty[item]; ok {
		return false
	}
	m.dirty[item] = struct{}{}
	if _, ok := m.processing[item]; ok {
		return false
	}
	m.push(item, stamp)
	return true
}

func (m *twoMaps[T]) take() T {
	item := m.pop()
	m.processing[item] = struct{}{}
	delete(m.dirty, item)
	return item
}

func (m *twoMaps[T]) done(item T, stamp uint64) (enqueued bool) {
	delete(m.processing, item)
	if _, ok := m.dirty[item]; !ok {
		return false
	}
	m.push(item, stamp)
	return true
}

// oneMap combines the two sets in one map of phases: five map operations.
type oneMap[T comparable] struct {
	phases map[T]phase
	fifo[T]
}

type phase = uint32

const (
	idle phase = iota // not in the map
	ready
	processing
	dirty
)

func newOneMap[T comparable]() store[T] { return &oneMap[T]{phases: map[T]phase{}} }

func (m *oneMap[T]) add(item T, stamp uint64) (enqueued bool) {
	switch m.phases[item] {
	case idle:
		m.phases[item] = ready
		m.push(item, stamp)
		return true
	case processing:
		m.phases[item] = dirty
	}
	return false
}

func (m *oneMap[T]) take() T {
	item := m.pop()
	m.phases[item] = processing
	return item
}

func (m *oneMap[T]) done(item T, stamp uint64) (enqueued bool) {
	switch m.phases[item] {
	case processing:
		delete(m.phases, item)
	case dirty:
		m.phases[item] = ready
		m.push(item, stamp)
		return true
	}
	return false
}

// fifo is the order of a shard's items, and of their stamps if they have any.
type fifo[T any] struct {
	items  ring[T]
	stamps ring[uint64]
}

func (f *fifo[T]) length() int { return f.items.size }

func (f *fifo[T]) head() (stamp uint64) { return f.stamps.cells[f.stamps.first] }

func (f *fifo[T]) push(item T, stamp uint64) {
	f.items.push(item)
	if stamp != 0 {
		f.stamps.push(stamp)
	}
}

func (f *fifo[T]) pop() T {
	if f.stamps.size > 0 {
		f.stamps.pop()
	}
	return f.items.pop()
}

// ring is a ring buffer that never shrinks.
type ring[E any] struct {
	cells       []E // a power of two of them
	first, size int
}

func (r *ring[E]) push(element E) {
	if r.size == len(r.cells) {
		r.grow()
	}
	r.cells[(r.first+r.size)&(len(r.cells)-1)] = element
	r.size++
}

func (r *ring[E]) pop() E {
	var zero E
	element := r.cells[r.first]
	r.cells[r.first] = zero
	r.first = (r.first + 1) & (len(r.cells) - 1)
	r.size--
	return element
}

func (r *ring[E]) grow() {
	grown := make([]E, max(8, 2*len(r.cells)))
	n := copy(grown, r.cells[r.first:])
	copy(grown[n:], r.cells[:r.first])
	r.cells, r.first = grown, 0
}
