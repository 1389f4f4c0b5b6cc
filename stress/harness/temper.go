package harness

import "sync/atomic"

// User code that panics: a temper loses itself now and then, and attempt knows its
// panics from those of the queue.

// temper panics at every so-manieth strain.
type temper struct {
	strains atomic.Uint64
	every   uint64
	panics  provoked
	soothed *atomic.Bool // while it is set, there is no panic
}

// provoked is what a temper panics with.
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

// attempt calls f and returns the panic on purpose that it ended with, or calm.
func attempt(f func()) (panicked provoked) {
	defer func() { panicked = onPurpose(recover()) }()
	f()
	return calm
}

// onPurpose returns what was recovered, if it was provoked, and goes on panicking if
// not.
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
