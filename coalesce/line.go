package coalesce

// A line holds the pending values of one key in a list of segments, the oldest
// first. As a rule it has one segment. The lock of its stripe guards it.
//
// To merge, a call takes the value out of a segment, releases the lock, calls
// Merge, and puts the result back into the same segment. Other calls do not
// wait for that. Meanwhile a Put appends a segment, and a Take takes the
// segments before. A later Put merges one pair of neighbors. So a line has at
// most about twice as many segments as there are Puts in progress: with one
// more, two mergeable segments would be neighbors.
type line[V any] struct {
	first, last *segment[V]
	key         keyState
	// low says that the values may have requested priorities below 0 alone.
	// Then a Put without a priority asks the queue for 0.
	low bool
	// values counts the values that were put, if Linger is set.
	values uint32
	// inline is the segment of a value that finds the line empty. It saves an
	// allocation.
	inline segment[V]
	spare  *line[V] // the next in the stripe's list of unused lines
}

// request notes that a value requests a priority. If the key is new, no earlier
// value has requested one.
func (l *line[V]) request(priority int, isNew bool) {
	l.low = priority < 0 && (l.low || isNew)
}

// A keyState says whether the queue has the key of a line. A call that sets the
// state makes it true before it returns. The end of a delay changes no state,
// whether it expires or an operator ends it. So a key that is delayed, waiting
// or lingering may be ready since.
type keyState uint8

const (
	// absent: no Take will come for the line. The call that puts a value into
	// the line, or that is merging one, adds the key.
	absent keyState = iota
	// queued: the key is ready, or will be at its Done, or a Take has the key
	// and has not taken the value yet.
	queued
	// delayed: the key becomes ready when the delay of its return expires.
	delayed
	// waiting: the key becomes ready when the delay of a PutWith expires.
	waiting
	// lingering: likewise, but the delay expires at the latest when Linger
	// has passed since the first value.
	lingering
)

// A segment is a value in its place in the line.
type segment[V any] struct {
	value V
	// weight is the room that the value has. If keys are counted, the first
	// segment has the room of the key, and the others have none.
	weight int64
	next   *segment[V]
	// merging says that a call is merging the value, or has not finished
	// putting it in. The segment keeps its place.
	merging bool
	// reserved says that a Take has found the value and could not take it yet.
	// No call merges more into it, so that the next Take can take it.
	reserved bool
	// taking says that a TakeBatch is about to take the value, or that the call
	// that returns it has not made the key ready yet. No Cancel takes it.
	taking bool
	// mergeFailed says that Merge has panicked with the values of the previous
	// segment and of this one. No call tries that again.
	mergeFailed bool
}

func (s *segment[V]) isMergeable() bool { return !s.merging && !s.reserved }

func (l *line[V]) append(value V, weight int64) (s *segment[V]) {
	s = l.newSegment()
	s.value, s.weight = value, weight
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
	return s
}

func (l *line[V]) prepend(value V, weight int64) (s *segment[V]) {
	s = l.newSegment()
	s.value, s.weight, s.next = value, weight, l.first
	l.first = s
	if l.last == nil {
		l.last = s
	}
	return s
}

func (l *line[V]) newSegment() *segment[V] {
	if l.first == nil {
		return &l.inline
	}
	return new(segment[V])
}

// mergeablePair returns the first segment that can be merged with its next one,
// or nil if there is none.
func (l *line[V]) mergeablePair() *segment[V] {
	for s := l.first; s != nil && s.next != nil; s = s.next {
		if s.isMergeable() && s.next.isMergeable() && !s.next.mergeFailed {
			return s
		}
	}
	return nil
}

func (l *line[V]) previous(s *segment[V]) (previous *segment[V]) {
	for other := l.first; other != s; other = other.next {
		previous = other
	}
	return previous
}

func (l *line[V]) unlinkNext(s *segment[V]) *segment[V] {
	next := s.next
	s.next = next.next
	if l.last == next {
		l.last = s
	}
	next.next = nil
	return next
}

func (l *line[V]) remove(s *segment[V]) (weight int64) {
	if s == l.first {
		_, weight = l.removeFirst()
		return weight
	}
	weight = l.unlinkNext(l.previous(s)).weight
	*s = segment[V]{} // it may be inline, and must not refer to the value
	return weight
}

func (l *line[V]) removeFirst() (value V, weight int64) {
	s := l.first
	value, weight = s.value, s.weight
	if l.first = s.next; l.first == nil {
		l.last = nil
	}
	*s = segment[V]{} // it may be inline, and must not refer to the value
	return value, weight
}

func (l *line[V]) length() (n int) {
	for s := l.first; s != nil; s = s.next {
		n++
	}
	return n
}

func (l *line[V]) isMerging() bool {
	for s := l.first; s != nil; s = s.next {
		if s.merging {
			return true
		}
	}
	return false
}
