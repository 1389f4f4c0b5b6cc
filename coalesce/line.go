package coalesce

import "math"

// A line holds the pending values of one key in a list of segments, the oldest
// first, as a rule one. The lock of its stripe guards it.
//
// To merge, a call takes the value out of a segment, releases the lock, calls
// Merge, and puts the result back into the same segment. Meanwhile a Put appends
// a segment, and a Take takes the segments before. A later Put merges one pair
// of neighbors. So a line has at most about twice as many segments as there are
// Puts in progress: with one more, two mergeable segments would be neighbors.
type line[V any] struct {
	first, last *segment[V]
	key         keyState
	prioritized bool  // a value has requested a priority that is not 0
	tells       uint8 // the number of tellers
	// handsOut: a Take is merging the values.
	handsOut bool
	trace    trace
	// values is the number that were put, if Linger is set.
	values uint32
	inline segment[V] // of a value that finds the line empty; it saves an allocation
}

func (l *line[V]) isEmpty() bool { return l == nil || l.first == nil }

// priority is the highest that the values have requested. Whoever tells the queue
// about the key asks for it, because what was asked before may have gone to a Take.
func (l *line[V]) priority() int {
	if !l.prioritized {
		return 0 // without a walk, which a storm of Puts of one key would feel
	}
	highest := math.MinInt
	for s := l.first; s != nil; s = s.next {
		highest = max(highest, s.priority)
	}
	return highest
}

// A keyState says whether the queue has the key of a line. A call that sets the state makes
// it true before it returns. The end of a delay changes no state, whether it expires or an
// operator ends it. So a key that is delayed, waiting or lingering may be ready since.
type keyState uint8

const (
	// absent: no Take will come. The call that puts a value in, or that is
	// merging one, adds the key.
	absent keyState = iota
	// queued: the key is ready, or will be at its Done, or a Take has the key
	// and has not taken the value yet.
	queued
	delayed // the key becomes ready when the delay of its return expires
	waiting // … when the delay of a PutWith expires
	// lingering: likewise, but the delay expires at the latest when Linger
	// has passed since the first value.
	lingering
)

type segment[V any] struct {
	value V
	// weight is the room that the value has. If keys are counted, the first
	// segment has the room of the key, and the others have none.
	weight   int64
	priority int // that the value has requested
	next     *segment[V]
	mark     mark
	// merging: a call is merging the value, or has not finished putting it in.
	// The segment keeps its place.
	merging bool
	// reserved: a Take has found the value and could not take it yet, or the call
	// that returns it goes on. No call merges more into it.
	reserved bool
	taking   bool // a ClaimBatch is about to take the value, and no Cancel takes it
	// sealed: a Cancel cancels the run of a Take that is merging the values up to this
	// one. What is put later does not go with them.
	sealed bool
	// returning: the call that gives the value back has not finished. A Cancel
	// takes it all the same, and a drain that drops its delay.
	returning bool
	// mergeFailed: Merge has panicked with the previous value and this one. No
	// call tries that again.
	mergeFailed bool
}

func (s *segment[V]) isMergeable() bool { return !s.merging && !s.reserved && !s.sealed }

func (l *line[V]) append(value V, weight int64, priority int) (s *segment[V]) {
	s = l.newSegment()
	s.value, s.weight, s.priority = value, weight, priority
	l.prioritized = l.prioritized || priority != 0
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
	return s
}

func (l *line[V]) prepend(value V, weight int64, priority int, m mark) {
	s := l.newSegment()
	s.value, s.weight, s.priority, s.mark, s.next = value, weight, priority, m, l.first
	l.prioritized = l.prioritized || priority != 0
	l.first = s
	if l.last == nil {
		l.last = s
	}
}

func (l *line[V]) newSegment() *segment[V] {
	if l.first == nil {
		return &l.inline
	}
	return new(segment[V])
}

func (l *line[V]) mergeablePair() *segment[V] {
	for s := l.first; s != nil && s.next != nil; s = s.next {
		if s.isMergeable() && s.next.isMergeable() && !s.next.mergeFailed {
			return s
		}
	}
	return nil
}

// all reports whether all segments are so.
func (l *line[V]) all(are func(*segment[V]) bool) bool {
	s := l.first
	for s != nil && are(s) {
		s = s.next
	}
	return s == nil
}

// has is also called for a segment that is in another line by now.
func (l *line[V]) has(s *segment[V]) bool {
	return l != nil && !l.all(func(other *segment[V]) bool { return other != s })
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
		return l.removeFirst().weight
	}
	weight = l.unlinkNext(l.previous(s)).weight
	*s = segment[V]{} // it may be inline, and must not refer to the value
	return weight
}

func (l *line[V]) removeFirst() (first segment[V]) {
	s := l.first
	if l.first = s.next; l.first == nil {
		l.last = nil
	}
	first, *s = *s, segment[V]{} // it may be inline, and must not refer to the value
	return first
}

func (l *line[V]) length() (n int) {
	for s := l.first; s != nil; s = s.next {
		n++
	}
	return n
}

// isAtRest reports whether the line has values, and no call is about to merge,
// take or return one.
func (l *line[V]) isAtRest() bool {
	return !l.isEmpty() && !l.first.taking && !l.first.returning && l.all(func(s *segment[V]) bool { return !s.merging })
}

// isPostponed reports whether a call is returning a value with a delay. If a
// drain drops the delay, the call would not notice it: the drain takes the value.
func (l *line[V]) isPostponed() bool {
	return !l.isEmpty() && l.first.returning && l.key == delayed && l.all(func(s *segment[V]) bool { return !s.merging })
}

// isOnlyOf reports whether the values could be taken out, and have nothing but
// events of one source.
func (l *line[V]) isOnlyOf(only *ledger) bool {
	return l.isAtRest() && l.all(func(s *segment[V]) bool { return s.mark.isOnlyOf(only) })
}

// isDelayedOf reports whether values have events of a source, and wait perhaps.
func (l *line[V]) isDelayedOf(one *ledger) bool {
	return l.key >= delayed && !l.all(func(s *segment[V]) bool { return s.mark.part(one) == nil })
}

// The methods that end in Locked are called with the lock of the stripe, and
// return with it. They release it while user code runs. If that panics or ends
// the goroutine, they call a function of their caller before they unwind.

// mergeAllLocked merges the segments after the first into it, but leaves those
// that other calls are merging. If user code panics, the segments are as
// before, and it calls failed with no lock held.
func (c *Coalescer[K, V]) mergeAllLocked(s *stripe[K, V], key K, l *line[V], failed func()) {
	// The caller has the key, so a Drain that drops its delay leaves the line alone.
	s.setStateLocked(l, queued)
	l.handsOut = true
	c.mergeRestLocked(s, l, s.extras != nil && s.extras.canceling[key] > 0, func() {
		l.handsOut = false
		s.mu.Unlock()
		c.limit.Notify()
		failed()
	})
	l.handsOut = false
}

// seal is for a Cancel. One seal is enough, and no Put merges a value into a sealed one.
func (l *line[V]) seal() {
	if l.handsOut && l.all(func(s *segment[V]) bool { return !s.sealed }) {
		l.last.sealed = true
	}
}

// mergeRestLocked is mergeAllLocked that leaves the state of the key alone, and
// calls failAndUnlock with the lock held.
func (c *Coalescer[K, V]) mergeRestLocked(s *stripe[K, V], l *line[V], sealed bool, failAndUnlock func()) {
	first := l.first
	for s := first; s != nil; s = s.next {
		s.sealed = sealed && s == l.last // not by a Cancel beside an earlier call
	}
	for n := l.length(); n > 1 && !first.sealed; n-- { // not those that are put meanwhile, or it might not end
		if next := first.next; next == nil || next.merging || next.mergeFailed {
			return
		}
		c.mergeNextLocked(s, l, first, failAndUnlock)
	}
}

// mergeNextLocked is mergeLocked of the segment after left into left. If user
// code panics, both are as before, and no call tries again.
func (c *Coalescer[K, V]) mergeNextLocked(s *stripe[K, V], l *line[V], left *segment[V], failAndUnlock func()) {
	right := left.next // it stays in the line, so that Peek finds it
	right.merging = true
	c.mergeLocked(s, left, right.value, right.weight, func() {
		right.merging, right.mergeFailed = false, true
		failAndUnlock()
	})
	if left.mark.of != nil || right.mark.of != nil {
		left.mark.join(&right.mark)
	}
	left.sealed, left.priority = left.sealed || right.sealed, max(left.priority, right.priority)
	*l.unlinkNext(left) = segment[V]{} // it may be inline, and must not refer to the value
}

// mergeLocked merges next into a mergeable segment. If user code panics or ends
// the goroutine, the segment is as before, and it calls failAndUnlock.
func (c *Coalescer[K, V]) mergeLocked(s *stripe[K, V], into *segment[V], next V, weight int64, failAndUnlock func()) {
	pending, returned := into.value, false
	into.merging = true
	s.mu.Unlock()
	defer func() {
		if !returned {
			s.mu.Lock()
			into.merging = false
			failAndUnlock()
		}
	}()
	merged := c.options.Merge(pending, next)
	mergedWeight := c.weightOf(merged)
	returned = true
	s.mu.Lock()
	s.merged++
	into.value, into.merging = merged, false
	into.weight += weight // not before: removeAndUnlock may have added the weight of the key meanwhile
	if c.options.Weight != nil {
		c.resize(mergedWeight - into.weight)
		into.weight = mergedWeight
	}
}

// resize changes the weight held. The caller must call Notify afterwards.
func (c *Coalescer[K, V]) resize(change int64) {
	if change > 0 {
		c.limit.ForceAcquire(change)
	} else if change < 0 {
		c.limit.Release(-change)
	}
}
