package harness

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// An operation is the kind of an event.
type operation uint8

const (
	opAdd operation = iota
	opAddAfter
	opAddRateLimited
	opGet
	opGetNothing // a Get that reported the shutdown
	opDone
	opAddWith // an AddWith that may leave the key delayed; otherwise it is opAdd
	opCancel
	opEnd     // the end of a claim
	opRelease // an end after which the key is ready
	opRest    // the queue was found at rest
	opDrained // a drain returned without an error
)

// event is a call, with the stamps before and after it.
type event struct {
	call, end int64
	delay     time.Duration // of AddAfter; of AddWith the shortest possible one
	// clock is the ledger's time of an event of a delayed key: the deadline of
	// an add, or the time of a Get. 0 is none.
	clock     int64
	key       int32 // -1: all keys
	actor     int32
	operation operation
	// unsure reports whether the call may have had no effect: a shutdown had
	// begun when it returned, or user code panicked.
	unsure  bool
	stepped bool // the delay is by a fake clock
	// was is the result of a Cancel.
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

// name formats the call.
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

// list formats events, one in each line.
func list(events []event) string {
	text := ""
	for _, e := range events {
		text += fmt.Sprintf("  %v\n", e)
	}
	return text
}

// recorder keeps the operations of one goroutine for the report of a violation:
// all on watched keys, and the latest of the others. Only that goroutine uses
// it until it has ended, so that recording orders nothing.
type recorder struct {
	actor   int32
	watched []event
	latest  []event // a ring, once it has its full size
	count   int
}

// mostLatest limits the latest events: nearly always all of a round.
const mostLatest = 1 << 14

// There are few watched keys, and each is added a limited number of times, so
// that the histories can be checked. Delays count most, because each is an
// event that can take effect at any later time.
const (
	addsOfWatched   = 300
	delaysOfWatched = 12
	mostWatched     = 5
)

// budget is the number of adds, and of delays among them, that an actor has
// left for a key.
type budget struct{ adds, delays int }

// watched reports whether all operations on a key are recorded. Key 0, the
// hottest, is not watched.
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

// completeFrom returns the stamp from which on all events are kept.
func (r *recorder) completeFrom() int64 {
	if r.count <= len(r.latest) {
		return 0
	}
	return r.latest[r.count%mostLatest].call
}

// eventsOf returns the events that choice selects from all recorders, in the
// order of their calls.
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

// historyOf returns the events of a watched key.
func historyOf(key int, recorders []*recorder) []event {
	return eventsOf(recorders, func(e event) bool { return int(e.key) == key || e.key < 0 })
}
