package harness

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A violation that names a key is explained by that key's history, reduced to
// the part that is wrong by itself. Each clause has a rule that says which few
// calls cannot all be right, and the recorded calls are searched for them. (A
// violation that porcupine finds is reduced by trying: see minimise.)

// beforeIt is the number of calls that are shown before the relevant ones.
// mostShown is the number of calls that are shown if no rule is broken.
const (
	beforeIt  = 6
	mostShown = 40
)

// explain adds the history of its key to a violation, after all actors have
// left.
func (r *round) explain(v *Violation) {
	if v.Key < 0 || v.History != "" {
		return
	}
	b := newEvidence(r, v.Key)
	wrong := b.wrong(v)
	if wrong == nil {
		v.History = fmt.Sprintf("the last operations on key %d:\n%s", v.Key, list(last(b.of(v.Key), mostShown)))
		return
	}
	v.History = "this part of the history is enough:\n" + list(wrong)
	if before := b.before(wrong); len(before) > 0 {
		v.History += "before it:\n" + list(before)
	}
}

// evidence is the events for an explanation.
type evidence struct {
	round  *round
	from   int64   // the events are complete from this stamp on
	events []event // of the relevant keys, in order
}

func newEvidence(r *round, key int) evidence {
	b := evidence{round: r}
	for _, recorder := range r.recorders() {
		b.from = max(b.from, recorder.completeFrom())
	}
	group := r.plan.groupOf(key)
	b.events = eventsOf(r.recorders(), func(e event) bool {
		k := int(e.key)
		return k == key || k >= 0 && k < r.plan.Keys && classOf(k) == ordered && r.plan.groupOf(k) == group
	})
	inOrder(b.events)
	return b
}

// of returns the events of a key.
func (b evidence) of(key int) []event {
	return slices.DeleteFunc(slices.Clone(b.events), func(e event) bool { return int(e.key) != key })
}

// before returns a few events of the keys in wrong, before the calls in wrong.
func (b evidence) before(wrong []event) []event {
	earlier := slices.DeleteFunc(slices.Clone(b.events), func(e event) bool {
		sameKey := slices.ContainsFunc(wrong, func(w event) bool { return w.key == e.key })
		return !sameKey || e.moment() >= wrong[0].moment()
	})
	return last(earlier, beforeIt)
}

// wrong returns the calls that break the violation's rule, or nil if they are
// not among the recorded ones.
func (b evidence) wrong(v *Violation) []event {
	events := b.of(v.Key)
	switch v.Clause {
	case "C1":
		return handedOutTwice(events, b.from)
	case "C2":
		return b.notServed(events, v)
	case "C5":
		return b.overtaken(events)
	case "C12", "C42":
		return heldByAWorker(events, v)
	case "C19":
		return early(events)
	case "C38":
		return sinceTheRunBefore(events, v)
	case "C39":
		return canceledBefore(events, v)
	}
	return nil
}

// handedOutTwice finds a Get that returned a key between a Get of another
// worker and its Done.
func handedOutTwice(events []event, from int64) []event {
	gets := only(events, opGet)
	var get, done event // the longest turn
	for _, next := range gets {
		if next.end < done.call {
			return inOrder([]event{get, next, done})
		}
		if own, ok := ownDone(events, next); ok && next.call >= from && own.call > done.call {
			get, done = next, own
		}
	}
	return nil
}

// ownDone returns the Done by which the goroutine of a Get ended its turn.
func ownDone(events []event, get event) (event, bool) {
	for _, e := range events {
		if e.operation == opDone && e.actor == get.actor && e.call >= get.end {
			return e, true
		}
	}
	return event{}, false
}

// notServed finds an add that was surely not dropped, and after which no Get
// returned the key, with the last Get before it.
func (b evidence) notServed(events []event, v *Violation) []event {
	var get, add event
	served := int64(math.MinInt64) // the latest end of a Get
	for _, e := range only(events, opGet) {
		if e.end > served {
			served, get = e.end, e
		}
	}
	found := false
	for _, e := range events {
		added := e.operation == opAdd || !b.round.plan.dropsDelayed() && (e.operation == opAddAfter || e.operation == opAddRateLimited)
		if added && !e.unsure && e.call > served && e.call >= b.from && !found {
			add, found = e, true
		}
	}
	rest := event{operation: opRest, key: add.key, actor: -1, call: v.at, end: v.at}
	switch {
	case !found:
		return nil
	case get.end == 0:
		return []event{add, rest}
	default:
		return []event{get, add, rest}
	}
}

// overtaken finds two keys of one shard. One was ready before the Add of the
// other began, but the other's Get returned first.
func (b evidence) overtaken(events []event) []event {
	for _, get := range slices.Backward(only(events, opGet)) {
		add, ok := latest(events, opAdd, get.end)
		if !ok || add.call < b.from {
			return nil
		}
		for _, other := range only(b.events, opGet) {
			if other.key == get.key || other.end >= get.call {
				continue
			}
			if later, ok := latest(b.of(int(other.key)), opAdd, other.end); ok && later.call > add.end {
				return inOrder([]event{add, later, other, get})
			}
		}
	}
	return nil
}

// heldByAWorker finds a Get without a Done before the drain was over.
func heldByAWorker(events []event, v *Violation) []event {
	for _, get := range slices.Backward(only(events, opGet)) {
		done, ok := ownDone(events, get)
		over := event{operation: opDrained, key: get.key, actor: -1, call: v.at, end: v.at}
		switch {
		case get.end > v.at:
		case !ok:
			return []event{get, over}
		case done.call > v.at:
			return []event{get, over, done}
		}
	}
	return nil
}

// early finds a Get before all deadlines of the adds since the Get before it.
func early(events []event) (wrong []event) {
	var first *event // the add with the earliest deadline
	for i := range events {
		e := &events[i]
		switch {
		case e.operation == opGet:
			if first != nil && e.clock < first.clock {
				wrong = []event{*first, *e}
			}
			first = nil
		case e.clock != 0 && (first == nil || e.clock < first.clock):
			first = e
		}
	}
	return wrong
}

// sinceTheRunBefore returns the last run before the violation was found, with
// all adds since the previous run.
func sinceTheRunBefore(events []event, v *Violation) (wrong []event) {
	for _, e := range slices.Backward(events) {
		switch {
		case e.end > v.at || e.operation == opDone:
		case e.operation == opGet && len(wrong) > 0:
			return inOrder(wrong)
		case e.operation == opGet || len(wrong) > 0:
			wrong = append(wrong, e)
		}
	}
	return inOrder(wrong)
}

// canceledBefore returns the last run, with the last Cancel that had returned
// when its Get was called.
func canceledBefore(events []event, v *Violation) []event {
	for _, get := range slices.Backward(only(events, opGet)) {
		if get.end > v.at {
			continue
		}
		for _, e := range slices.Backward(only(events, opCancel)) {
			if e.end < get.call {
				return []event{e, get}
			}
		}
	}
	return nil
}

func only(events []event, o operation) (some []event) {
	for _, e := range events {
		if e.operation == o {
			some = append(some, e)
		}
	}
	return some
}

// latest returns the last event of a kind before a moment.
func latest(events []event, o operation, before int64) (event, bool) {
	for _, e := range slices.Backward(events) {
		if e.operation == o && e.moment() < before {
			return e, true
		}
	}
	return event{}, false
}

// moment is the stamp by which events are ordered here. For a Get, which may
// have blocked for long, it is the end.
func (e event) moment() int64 {
	if e.operation == opGet {
		return e.end
	}
	return e.call
}

func inOrder(events []event) []event {
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.moment(), b.moment()) })
	return events
}

// last returns the end of a history.
func last(events []event, n int) []event { return events[max(0, len(events)-n):] }
