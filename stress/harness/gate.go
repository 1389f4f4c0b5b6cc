package harness

import (
	"sync"
	"sync/atomic"
	"time"
)

// gate stops workers while they hold a key. A drain then cannot end by itself,
// and only a ShutDown can end it (C12).
type gate struct {
	closed atomic.Pointer[chan struct{}] // nil while the gate is open
	held   atomic.Int32                  // the workers that wait at the gate
}

func (g *gate) close() {
	opened := make(chan struct{})
	g.closed.Store(&opened)
}

func (g *gate) open() { close(*g.closed.Swap(nil)) }

// pass waits while the gate is closed.
func (g *gate) pass() {
	if opened := g.closed.Load(); opened != nil {
		g.held.Add(1)
		<-*opened
		g.held.Add(-1)
	}
}

// grace is the time within which an unobstructed operation must end.
var grace = 3 * time.Second

// shutDownBesideAWorker begins a drain while a worker keeps a key, and ends it
// by a ShutDown. The ShutDown is not the first call that shuts down, and in
// half of the rounds not the first ShutDown.
func (r *round) shutDownBesideAWorker(a *actor) {
	r.gate.close()
	for r.gate.held.Load() == 0 && !r.violated.stopped.Load() {
		r.lastWave(a) // repeatedly: it may choose keys that it may not add
		pause()
	}
	first := a.chance(2)
	if !first {
		r.queue.ShutDown()
	}
	over := r.drains(1 + a.roll(2))
	if first {
		for !r.queue.ShuttingDown() && !r.violated.stopped.Load() {
			pause()
		}
	}
	if !r.releases(over) {
		r.violated.report("C12", -1,
			"a ShutDown during a drain, while a worker had an item, did not end the drain within %v", grace)
	}
	r.gate.open()
	<-over
}

// drains starts several drains, and returns a channel that is closed when all
// of them have returned.
func (r *round) drains(callers int) <-chan struct{} {
	var all sync.WaitGroup
	for range callers {
		all.Go(r.queue.ShutDownWithDrain)
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	return over
}

// releases calls ShutDown until all drains are over, and reports false if they
// never are. A ShutDown before a drain begins does not end it, but a later one
// does.
func (r *round) releases(over <-chan struct{}) bool {
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); pause() {
		r.queue.ShutDown()
		r.progress.Add(1)
		if closed(over) {
			return true
		}
	}
	return closed(over)
}
