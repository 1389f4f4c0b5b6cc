package harness

import "sync/atomic"

// The limit of groups (C48): between the return of a Get and the call of the
// Done, workers hold at most GroupLimit keys of a group.

// inHand counts the keys of each group that are in flight.
type inHand struct {
	limit int32
	of    [mostGroups]atomic.Int32
}

func newInHand(p Plan) *inHand {
	if p.GroupLimit == 0 {
		return nil
	}
	return &inHand{limit: int32(p.GroupLimit)}
}

// takeInHand is called after a Get.
func (l *ledger) takeInHand(key int) {
	if l.inHand == nil || l.misused(key) {
		return
	}
	if n := l.inHand.of[l.groupOf(key)].Add(1); n > l.inHand.limit {
		l.violated.report("C48", key, "with key %d, workers have %d keys of group %s; the limit is %d",
			key, n, groupNames[l.groupOf(key)], l.inHand.limit)
	}
}

// putOutOfHand is called before a Done.
func (l *ledger) putOutOfHand(key int) {
	if l.inHand != nil && !l.misused(key) {
		l.inHand.of[l.groupOf(key)].Add(-1)
	}
}
