package shardq

// A coalescerSource is a [Coalescer] with what a [Source] may have beside.
type coalescerSource[K comparable, V any] struct{ *Coalescer[K, V] }

// Name is that of the queue of keys.
func (s coalescerSource[K, V]) Name() string { return s.queue.name }

// NumRequeues is [Queue.NumRequeues] of the key.
func (s coalescerSource[K, V]) NumRequeues(taken Pending[K, V]) int {
	return s.queue.NumRequeues(taken.Key)
}

// Forget is [Queue.Forget] of the key.
func (s coalescerSource[K, V]) Forget(taken Pending[K, V]) { s.queue.Forget(taken.Key) }

// Hire is that of a [Workplace].
func (s coalescerSource[K, V]) Hire() (number int, show func([]Pending[K, V]), leave func()) {
	d := s.queue.workforce.newDesk()
	if s.queue.configuration.Metrics {
		show = coalescerDesk[K, V]{d}.show
	}
	return d.number, show, d.clear
}
