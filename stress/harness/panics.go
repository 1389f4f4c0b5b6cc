package harness

import "sync/atomic"

// User code that panics. A panicker panics now and then, and attempt
// distinguishes its panics from those of the queue.

// panicker panics at every n-th call.
type panicker struct {
	calls      atomic.Uint64
	every      uint64
	panics     panicValue
	suppressed *atomic.Bool // while it is set, there is no panic
}

// panicValue is the value of a panicker's panic.
type panicValue string

const (
	noPanic       panicValue = "" // no panic
	limiterPanics panicValue = "the limiter panics on purpose"
	hashPanics    panicValue = "the hash function panics on purpose"
	hookPanics    panicValue = "the misuse hook panics on purpose"
	workerPanics  panicValue = "a worker panics on purpose"
)

func (t *panicker) call() {
	if t != nil && !t.suppressed.Load() && t.calls.Add(1)%t.every == 0 {
		panic(t.panics)
	}
}

// attempt calls f, and returns the value of an intentional panic, or noPanic.
func attempt(f func()) (panicked panicValue) {
	defer func() { panicked = onPurpose(recover()) }()
	f()
	return noPanic
}

// onPurpose returns the recovered value if it is from a panicker, and panics
// again otherwise.
func onPurpose(recovered any) panicValue {
	switch r := recovered.(type) {
	case nil:
		return noPanic
	case panicValue:
		return r
	default:
		panic(r)
	}
}
