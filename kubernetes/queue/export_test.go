package queue

// Remembered returns the number of times that the Meter keeps.
func (m *Meter[T]) Remembered() int { return m.inLine.Size() + m.started.Size() }
