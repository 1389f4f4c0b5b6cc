package coalesce

// A mark says which events of sources a value contains. It is where the value is:
// in a segment, or among the stripe's flights while a worker has the value. If a
// value leaves undone, its mark is forgotten, and its node stays in the ledger.
// The zero mark is that of a value without events.
type mark struct {
	of              *origin
	lowest, highest int64 // offset
}

// An origin is that of one ledger, or has the marks of several.
type origin struct {
	ledger *ledger
	parts  []mark
}

// isOnlyOf reports whether the value has nothing but events of one source.
func (m *mark) isOnlyOf(l *ledger) bool { return m.of == &l.pure }

// isDropped is isOnlyOf a dropped source.
func (m *mark) isDropped() bool {
	return m.of != nil && m.of.ledger != nil && m.isOnlyOf(m.of.ledger) && m.of.ledger.dropped.Load()
}

// parts are the marks of the single sources.
func (m *mark) parts(yield func(*mark) bool) {
	if m.of == nil || m.of.ledger != nil {
		_ = m.of == nil || yield(m)
		return
	}
	for i := range m.of.parts {
		if !yield(&m.of.parts[i]) {
			return
		}
	}
}

// part returns the mark of one source, or nil.
func (m *mark) part(l *ledger) *mark {
	if m.of != nil && m.of.ledger == l {
		return m // as a rule, and an iterator would cost each Put a tenth
	}
	for part := range m.parts {
		if part.of.ledger == l {
			return part
		}
	}
	return nil
}

// mix says that the value contains others, which came from no source.
func (m *mark) mix() {
	if m.of != nil && m.of.ledger != nil {
		m.of = &m.of.ledger.mixed
	}
}

// join adds the mark of a value that has merged into that of m.
func (m *mark) join(next *mark) {
	if next.of == nil {
		m.mix()
	}
	for part := range next.parts {
		m.add(*part)
	}
}

// add keeps the node of the lower offset. It is that of next only after a Cancel
// that has panicked.
func (m *mark) add(next mark) {
	own := m.part(next.of.ledger)
	switch {
	case own != nil:
		next.of.ledger.remove(max(own.lowest, next.lowest))
		own.lowest, own.highest = min(own.lowest, next.lowest), max(own.highest, next.highest)
		if !next.isOnlyOf(next.of.ledger) {
			own.mix()
		}
	case m.of == nil:
		*m = next
		m.mix()
	case m.of.ledger != nil:
		*m = mark{of: &origin{parts: []mark{*m, next}}}
	default:
		m.of.parts = append(m.of.parts, next)
	}
}

// finish tells the ledgers that the value is done.
func (m *mark) finish() {
	for part := range m.parts {
		part.of.ledger.finish(part.lowest, part.highest)
	}
}
