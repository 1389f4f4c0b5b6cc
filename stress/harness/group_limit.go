package harness

import "sync/atomic"

// The limit of groups (C48): between the return of a Get and the call of the
// Done, workers hold at most GroupLimit keys of a group.

// inFlight counts the keys of each group that are in flight.
type inFlight struct {
	limit int32
	of    [mostGroups]atomic.Int32
}

func newInFlight(p Plan) *inFlight {
	if p.GroupLimit == 0 {
		return nil
	}
	return &inFlight{limit: int32(p.GroupLimit)}
}

// countTaken is called after a Get.
func (l *ledger) countTaken(key int) {
	if l.inFlight == nil || l.misused(key) {
		return
	}
	if n := l.inFlight.of[l.groupOf(key)].Add(1); n > l.inFlight.limit {
		l.violated.report("C48", key, "with key %d, workers have %d keys of group %s; the limit is %d",
			key, n, groupNames[l.groupOf(key)], l.inFlight.limit)
	}
}

// countDone is called before a Done.
func (l *ledger) countDone(key int) {
	if l.inFlight != nil && !l.misused(key) {
		l.inFlight.of[l.groupOf(key)].Add(-1)
	}
}
