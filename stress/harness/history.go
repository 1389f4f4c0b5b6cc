package harness

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The history of one key, checked for linearizability: there must be an order
// of the calls, each at some moment between its beginning and its end, that the
// model below allows. The model has the states of docs/reference/semantics.md
// without delayed. An AddAfter is an Add that may take effect at any moment
// from its deadline on, or never, because another one's earlier deadline may
// replace it, or a Cancel may remove it.

type state uint8

const (
	stateIdle state = iota
	stateReady
	stateProcessing
	stateDirty
)

// added returns the state after an add.
func (s state) added() state {
	return [...]state{stateIdle: stateReady, stateReady: stateReady, stateProcessing: stateDirty, stateDirty: stateDirty}[s]
}

// done returns the state after a Done, which has no effect unless the key is
// processing.
func (s state) done() state {
	return [...]state{stateIdle: stateIdle, stateReady: stateReady, stateProcessing: stateIdle, stateDirty: stateReady}[s]
}

// held reports whether a worker has the key.
func (s state) held() bool { return s >= stateProcessing }

// next returns the states that an event may lead to, or none if it is
// impossible.
func (s state) next(e event) []any {
	switch e.operation {
	case opAdd:
		return s.perhaps(e.unsure, s.added())
	case opAddAfter, opAddRateLimited, opAddWith:
		return s.perhaps(true, s.added())
	case opCancel:
		return s.canceled(e)
	case opDone:
		return s.perhaps(e.unsure, s.done())
	case opGet:
		return s.only(s == stateReady, e, stateProcessing)
	case opEnd:
		return s.only(s.held(), e, s.done())
	case opRelease:
		return s.only(s.held(), e, stateReady)
	case opGetNothing:
		return s.only(s != stateReady, e, s)
	case opRest:
		return s.only(s == stateIdle, e, s)
	}
	return nil
}

// canceled returns the state after a Cancel, whose result must fit the state
// before it.
func (s state) canceled(e event) []any {
	fits := e.was.Ready == (s == stateReady) && e.was.Dirty == (s == stateDirty)
	after := [...]state{stateIdle: stateIdle, stateReady: stateIdle, stateProcessing: stateProcessing, stateDirty: stateProcessing}[s]
	return s.only(fits, e, after)
}

func (s state) perhaps(unsure bool, to state) []any {
	if unsure && to != s {
		return []any{s, to}
	}
	return []any{to}
}

// only returns the state after an event that proves something about it, unless
// the event is unsure.
func (s state) only(possible bool, e event, to state) []any {
	switch {
	case possible:
		return s.perhaps(e.unsure, to)
	case e.unsure:
		return []any{s}
	}
	return nil
}

// modelFrom returns the model of a key that starts in one of some states.
func modelFrom(states ...any) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return states },
		Step: func(s, input, _ any) []any { return s.(state).next(input.(event)) },
	}
	return model.ToModel()
}

var (
	fromIdle     = modelFrom(stateIdle)
	fromAnywhere = modelFrom(stateIdle, stateReady, stateProcessing, stateDirty)
)

// checkTime limits the check of one history. Beyond that the history counts as
// undecided.
const checkTime = 2 * time.Second

func check(model porcupine.Model, history []event) porcupine.CheckResult {
	operations := make([]porcupine.Operation, len(history))
	for i, e := range history {
		operations[i] = porcupine.Operation{ClientId: int(e.actor), Input: e, Call: e.from(), Return: e.until()}
	}
	return porcupine.CheckOperationsTimeout(model, operations, checkTime)
}

// from returns the earliest moment at which an event can take effect.
func (e event) from() int64 {
	if (e.operation == opAddAfter || e.operation == opAddWith) && !e.stepped {
		return e.call + int64(max(e.delay, 0))
	}
	return e.call
}

// until returns the latest moment.
func (e event) until() int64 {
	if e.operation == opAddAfter || e.operation == opAddRateLimited || e.operation == opAddWith {
		return math.MaxInt64
	}
	return e.end
}

// minimise returns a part of a history that is wrong by itself. It cuts both
// ends, and leaves out irrelevant calls in the middle.
func minimise(history []event) []event {
	history = cutEnd(history)
	if end := cutStart(history); len(end) < len(history) {
		return leaveOut(fromAnywhere, end)
	}
	return leaveOut(fromIdle, history)
}

// leaveOutTime limits the time of leaveOut.
const leaveOutTime = 5 * time.Second

// leaveOut removes calls from a history while the rest is wrong whether or not
// they took effect. It removes many at once at first, then fewer.
func leaveOut(model porcupine.Model, history []event) []event {
	deadline := time.Now().Add(leaveOutTime)
	out := make([]bool, len(history))
	for size := len(history) / 2; size > 0; size /= 2 {
		for i := 0; i+size < len(history) && time.Now().Before(deadline); i += size { // the last one stays
			tried := slices.Clone(out)
			for n := range size {
				tried[i+n] = true
			}
			if check(model, doubted(history, tried)) == porcupine.Illegal {
				out = tried
			}
		}
	}
	var rest []event
	for i, e := range history {
		if !out[i] {
			rest = append(rest, e)
		}
	}
	return rest
}

// doubted returns the history with some calls marked as unsure.
func doubted(history []event, some []bool) []event {
	part := slices.Clone(history)
	for i := range part {
		part[i].unsure = part[i].unsure || some[i]
	}
	return part
}

// cutEnd returns the shortest wrong beginning, up to the return of some call.
func cutEnd(history []event) []event {
	short, long := 0, len(history) // a correct and a wrong length, in calls
	for long-short > 1 {
		middle := (short + long) / 2
		if check(fromIdle, beginning(history, middle)) == porcupine.Illegal {
			long = middle
		} else {
			short = middle
		}
	}
	return beginning(history, long)
}

// beginning returns the first n calls. Those that had not returned at the end
// of the last one are unsure.
func beginning(history []event, n int) []event {
	part := make([]event, n)
	copy(part, history)
	last := part[n-1].end
	for i := range part {
		if part[i].end > last {
			part[i].unsure = true
		}
	}
	return part
}

// cutStart returns the shortest wrong end that starts at a moment without a
// call in progress.
func cutStart(history []event) []event {
	for i := len(history) - 1; i > 0; i-- {
		if quietBefore(history, i) && check(fromAnywhere, history[i:]) == porcupine.Illegal {
			return history[i:]
		}
	}
	return history
}

// quietBefore reports whether all calls before number i had taken effect by
// then.
func quietBefore(history []event, i int) bool {
	for _, e := range history[:i] {
		if e.until() >= history[i].call {
			return false
		}
	}
	return true
}
