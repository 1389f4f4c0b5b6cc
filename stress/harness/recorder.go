package harness

import (
	"cmp"
	"fmt"
	"slices"
	"time"
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
	opRest // the queue was found at rest
)

func (o operation) String() string {
	return [...]string{"Add", "AddAfter", "AddRateLimited", "Get", "Get says shutdown", "Done", "at rest"}[o]
}

// event is a call that was made, with the stamps before and after it.
type event struct {
	operation operation
	// unsure says that the call may have been without effect: a shutdown had begun
	// when it returned, or user code panicked.
	unsure    bool
	key       int32 // -1: it concerns all keys
	actor     int32
	call, end int64
	delay     time.Duration // of AddAfter
	stepped   bool          // the delay is one of a clock that somebody steps
}

func (e event) String() string {
	name := e.operation.String()
	if e.operation == opAddAfter {
		name = fmt.Sprintf("AddAfter %v", e.delay)
	}
	if e.unsure {
		name += " (perhaps dropped)"
	}
	return fmt.Sprintf("%12v – %12v  goroutine %2d  %s", time.Duration(e.call), time.Duration(e.end), e.actor, name)
}

// recorder keeps what one goroutine did: all that concerns watched keys, and the
// latest of the rest, for the report of a violation. It belongs to that goroutine
// until it has ended, so that recording orders nothing.
type recorder struct {
	actor   int32
	watched []event
	latest  [256]event
	count   int
}

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
	if e.key < 0 || watched(int(e.key)) {
		r.watched = append(r.watched, e)
		return
	}
	r.latest[r.count%len(r.latest)] = e
	r.count++
}

// historyOf collects the events of a key from all recorders, in the order of their
// calls. For a key that is not watched, they are the latest.
func historyOf(key int, recorders []*recorder) (events []event) {
	for _, r := range recorders {
		for _, list := range [][]event{r.watched, r.latest[:min(r.count, len(r.latest))]} {
			for _, e := range list {
				if int(e.key) == key || e.key < 0 {
					events = append(events, e)
				}
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.call, b.call) })
	return events
}
