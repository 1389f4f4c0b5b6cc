package shardq

// A queueSource is a [Queue] that shows its workers.
type queueSource[T comparable] struct{ *Queue[T] }

// Hire is that of a [Workplace].
func (s queueSource[T]) Hire() (number int, show func([]T), leave func()) {
	d := s.workforce.newDesk()
	if s.configuration.Metrics {
		show = d.show
	}
	return d.number, show, d.clear
}
