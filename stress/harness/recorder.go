package harness

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// An operation is what an event is about.
type operation uint8

const (
	opAdd operation = iota
	opAddAfter
	opAddRateLimited
	opGet
	opGetNothing // a Get that said shutdown
	opDone
	opAddWith // one that leaves, or may leave, the key waiting; else it is opAdd
	opCancel
	opEnd     // the end of a claim
	opRelease // one by which the key is ready
	opRest    // the queue was found at rest
	opDrained // a drain said that it was over
)

// event is a call that was made, with the stamps before and after it.
type event struct {
	call, end int64
	delay     time.Duration // of AddAfter; of AddWith the shortest that it can come to
	// clock is, in the books of a delayed key, what the ledger's clock has to do with
	// the event: the deadline of an add, the time of a Get. 0: nothing.
	clock     int64
	key       int32 // -1: it concerns all keys
	actor     int32
	operation operation
	// unsure says that the call may have been without effect: a shutdown had begun
	// when it returned, or user code panicked.
	unsure  bool
	stepped bool // the delay is one of a clock that somebody steps
	// was is what a Cancel took back.
	was shardq.Canceled
	// way says how the call was made, if not in the usual way.
	way string
}

func (e event) String() string {
	text := fmt.Sprintf("%12v – %12v  goroutine %2d  %s%s", time.Duration(e.call), time.Duration(e.end), e.actor, e.name(), e.way)
	if e.unsure {
		text += " (perhaps without effect)"
	}
	if e.clock != 0 && e.operation == opGet {
		text += fmt.Sprintf(" (at %v by the queue's clock)", time.Duration(e.clock))
	} else if e.clock != 0 {
		text += fmt.Sprintf(" (due at %v by the queue's clock)", time.Duration(e.clock))
	}
	return text
}

// name is the call as it would be written.
func (e event) name() string {
	switch e.operation {
	case opAdd:
		return fmt.Sprintf("Add(%d)", e.key)
	case opAddAfter:
		return fmt.Sprintf("AddAfter(%d, %v)", e.key, e.delay)
	case opAddRateLimited:
		return fmt.Sprintf("AddRateLimited(%d)", e.key)
	case opGet:
		return fmt.Sprintf("Get yields %d", e.key)
	case opGetNothing:
		return "Get says shutdown"
	case opDone:
		return fmt.Sprintf("Done(%d)", e.key)
	case opAddWith:
		return fmt.Sprintf("AddWith(%d)", e.key)
	case opCancel:
		return fmt.Sprintf("Cancel(%d) says %+v", e.key, e.was)
	case opEnd:
		return fmt.Sprintf("the end of the claim of %d", e.key)
	case opRelease:
		return fmt.Sprintf("the release of the claim of %d", e.key)
	case opDrained:
		return "the drain is over"
	default:
		return "at rest"
	}
}

// list shows events, one a line.
func list(events []event) string {
	text := ""
	for _, e := range events {
		text += fmt.Sprintf("  %v\n", e)
	}
	return text
}

// recorder keeps what one goroutine did: all that concerns watched keys, and the
// latest of the rest, for the report of a violation. It belongs to that goroutine
// until it has ended, so that recording orders nothing.
type recorder struct {
	actor   int32
	watched []event
	latest  []event // a ring, once it has grown to its full size
	count   int
}

// mostLatest is how many of the latest events are kept: nearly always all of a round.
const mostLatest = 1 << 14

// Watched keys are few, and each is added at most so often, so that their histories
// stay short enough to be checked. The delays among them count most: each is an event
// that can come at any later time.
const (
	addsOfWatched   = 300
	delaysOfWatched = 12
	mostWatched     = 5
)

// budget is how many adds, and delays among them, an actor has left for a key.
type budget struct{ adds, delays int }

// watched reports whether all that is done to a key is recorded. Key 0, the hottest, is
// not.
//
//go:norace
func watched(key int) bool { return key == 1 || key == 2 || key == 3 || key == mostWatched }

var watchedKeys = []int{1, 2, 3, mostWatched}

// record keeps an event.
//
//go:norace
func (r *recorder) record(e event) {
	e.actor = r.actor
	switch {
	case e.key < 0 || watched(int(e.key)):
		r.watched = append(r.watched, e)
		return
	case len(r.latest) < mostLatest:
		r.latest = append(r.latest, e)
	default:
		r.latest[r.count%mostLatest] = e
	}
	r.count++
}

// completeFrom is the stamp from which on everything is kept.
func (r *recorder) completeFrom() int64 {
	if r.count <= len(r.latest) {
		return 0
	}
	return r.latest[r.count%mostLatest].call
}

// eventsOf collects the events that a choice wants from all recorders, in the order of
// their calls.
func eventsOf(recorders []*recorder, choice func(event) bool) (events []event) {
	for _, r := range recorders {
		for _, kept := range [][]event{r.watched, r.latest} {
			for _, e := range kept {
				if choice(e) {
					events = append(events, e)
				}
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.call, b.call) })
	return events
}

// historyOf collects the events of a watched key.
func historyOf(key int, recorders []*recorder) []event {
	return eventsOf(recorders, func(e event) bool { return int(e.key) == key || e.key < 0 })
}
