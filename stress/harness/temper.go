package harness

import "sync/atomic"

// User code that panics. A temper panics now and then, and attempt
// distinguishes its panics from those of the queue.

// temper panics at every n-th call.
type temper struct {
	strains atomic.Uint64
	every   uint64
	panics  provoked
	soothed *atomic.Bool // while it is set, there is no panic
}

// provoked is the value of a temper's panic.
type provoked string

const (
	calm        provoked = "" // no panic
	limiterLost provoked = "the limiter panics on purpose"
	hashLost    provoked = "the hash function panics on purpose"
	hookLost    provoked = "the misuse hook panics on purpose"
	workerLost  provoked = "a worker panics on purpose"
)

func (t *temper) strain() {
	if t != nil && !t.soothed.Load() && t.strains.Add(1)%t.every == 0 {
		panic(t.panics)
	}
}

// attempt calls f, and returns the value of an intentional panic, or calm.
func attempt(f func()) (panicked provoked) {
	defer func() { panicked = onPurpose(recover()) }()
	f()
	return calm
}

// onPurpose returns the recovered value if it is from a temper, and panics
// again otherwise.
func onPurpose(recovered any) provoked {
	switch r := recovered.(type) {
	case nil:
		return calm
	case provoked:
		return r
	default:
		panic(r)
	}
}
