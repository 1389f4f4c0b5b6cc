package shardq

// An entry is what is pending for one key: a line of parts, the oldest first. As a rule it is
// one part. It is guarded by the lock of its stripe.
//
// To merge, somebody takes the value out of a part, puts the lock down, merges, and puts the
// value back in its place. Who comes meanwhile does not wait for that: a Put appends a part,
// and a Take takes the parts before it. Parts that are at rest side by side are merged by later
// Puts, one pair each. So there are never more than about twice as many parts as there are
// Puts at work: with one more, two are neighbours at rest.
type entry[V any] struct {
	first, last *part[V]
	key         presence
	own         part[V]   // used for the first part, if it is free
	spare       *entry[V] // the next of those that are not in use
}

// A presence says how the queue has the key of an entry, or will have it when the
// call that set this is over.
type presence uint8

const (
	// absent: no Take will come for the entry. The call that puts a value into it,
	// or that is merging one, adds the key.
	absent presence = iota
	// queued: the key is ready, will be at its Done, or is with a Take that has not
	// taken the value.
	queued
	// backingOff: the key waits for its retry.
	backingOff
)

// A part is a value in its place in the line.
type part[V any] struct {
	value V
	// weight is the room that is held for it. If keys are counted, the first part
	// has the room of the key.
	weight int64
	next   *part[V]
	// merging says that the value is out to be merged, or not quite in: the part keeps its
	// place.
	merging bool
	// wanted says that a Take has come for it while it was merging. Nothing more is merged
	// into it, so that the next Take has it.
	wanted bool
	// apart says that Merge has panicked over the part before and this one: nobody tries
	// that again.
	apart bool
}

// atRest reports whether more may be merged into the part.
func (p *part[V]) atRest() bool { return !p.merging && !p.wanted }

// appendPart adds a part at the end, and returns it.
func (e *entry[V]) appendPart(value V, weight int64) (p *part[V]) {
	p = e.newPart()
	p.value, p.weight = value, weight
	if e.last == nil {
		e.first = p
	} else {
		e.last.next = p
	}
	e.last = p
	return p
}

// prependPart adds a part at the beginning.
func (e *entry[V]) prependPart(value V, weight int64) {
	p := e.newPart()
	p.value, p.weight, p.next = value, weight, e.first
	e.first = p
	if e.last == nil {
		e.last = p
	}
}

func (e *entry[V]) newPart() *part[V] {
	if e.first == nil {
		return &e.own
	}
	return new(part[V])
}

// neighbours returns the first part that is at rest beside its next one, or nil.
func (e *entry[V]) neighbours() *part[V] {
	for p := e.first; p != nil && p.next != nil; p = p.next {
		if p.atRest() && p.next.atRest() && !p.next.apart {
			return p
		}
	}
	return nil
}

// before returns the part before p, or nil if p is the first.
func (e *entry[V]) before(p *part[V]) (before *part[V]) {
	for q := e.first; q != p; q = q.next {
		before = q
	}
	return before
}

// unlinkNext takes the part after p out of the line, and returns it.
func (e *entry[V]) unlinkNext(p *part[V]) *part[V] {
	q := p.next
	p.next = q.next
	if e.last == q {
		e.last = p
	}
	q.next = nil
	return q
}

// relinkNext is the reverse.
func (e *entry[V]) relinkNext(p, q *part[V]) {
	q.next = p.next
	p.next = q
	if e.last == p {
		e.last = q
	}
}

// remove takes a part out of the line, wherever it is, and returns its room.
func (e *entry[V]) remove(p *part[V]) (weight int64) {
	if p == e.first {
		_, weight = e.removeFirst()
		return weight
	}
	weight = e.unlinkNext(e.before(p)).weight
	*p = part[V]{} // as in removeFirst
	return weight
}

// removeFirst takes the first part out of the line, and returns what was in it.
func (e *entry[V]) removeFirst() (value V, weight int64) {
	p := e.first
	value, weight = p.value, p.weight
	if e.first = p.next; e.first == nil {
		e.last = nil
	}
	*p = part[V]{} // it may be the entry's own: nothing is to refer to the value
	return value, weight
}

func (e *entry[V]) length() (n int) {
	for p := e.first; p != nil; p = p.next {
		n++
	}
	return n
}
