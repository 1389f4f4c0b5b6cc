package stats

import (
	"fmt"
	"time"
)

// A State is the state of an item in a queue. An item that a queue does not
// hold is idle, and has no State.
type State uint8

const (
	Ready      State = iota + 1 // a Get returns it, as soon as its group is not throttled
	Processing                  // between its Get and its Done
	Delayed                     // its delay is running, and it is in neither of the other states
)

// String returns the name of the state in lower case.
func (s State) String() string { return nameOf("State", s, "ready", "processing", "delayed") }

func nameOf[E ~uint8](kind string, value E, names ...string) string {
	if i := int(value) - 1; i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(value))
}

// Item describes an item of a queue at one moment.
type Item[T comparable] struct {
	Item  T
	State State
	// Dirty reports that the item is in processing, and was added again since.
	// It becomes ready at its Done.
	Dirty bool
	// Since is when the item came into its state, to the tick. It is zero if
	// the queue keeps no ages.
	Since time.Time
	// Deadline is when the item's delay expires, or zero if none is running.
	Deadline time.Time
	// Priority is the priority of the item's next run, as far as it is known.
	Priority int
	// Attempts is how often the item was requeued since it was last forgotten,
	// according to the queue's limiter.
	Attempts int
	Shard    int    // the number of the item's shard
	Group    string // empty if the queue has no groups
	// Worker is the number of the worker that processes the item. It is 0 if
	// none does, or the queue keeps no metrics.
	Worker int
}

// An Add tells that an item is in line for a run or, if Canceled is set, that
// it has left the line.
type Add[T comparable] struct {
	Item     T
	Priority int  // of the run to come
	Expired  bool // the item's delay has expired
	// Raised reports that the priority of an item in line was raised from
	// Before.
	Raised bool
	Before int
	// Canceled reports that the item was in line with the Priority, and has
	// left the line without a Get.
	Canceled bool
}

// A Failure describes an attempt of a worker that failed some time ago.
type Failure[T comparable] struct {
	Item    T
	Group   string    // empty if the queue has no groups
	Attempt int       // from 1
	Time    time.Time // by the queue's clock
	// Error is the text of the error, or of the value of a panic, cut after 512
	// bytes. The handler chose the text, so it may contain secrets.
	Error     string
	Panicked  bool
	Discarded bool
	// Reason says why the item was discarded: "permanent" if the error was, or
	// "exhausted" after the last attempt. It is empty if the item runs again.
	Reason string
}

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] struct {
	Queue string     // the name of the queue
	Kind  MisuseKind // which rule was broken
	Item  T          // the argument of the call
}

// A MisuseKind names the rule that a call broke.
type MisuseKind uint8

const (
	// DoneWithoutGet is a Done of an item that is not in processing: it was
	// never handed out, or its Done was called already.
	DoneWithoutGet MisuseKind = iota + 1
	// ItemNotEqualToItself is an item such as NaN, which no look-up could find
	// again. The queue rejects it.
	ItemNotEqualToItself
)

// String returns the name of the rule, for logs.
func (k MisuseKind) String() string {
	return nameOf("Misuse", k, "Done without Get", "item not equal to itself")
}
