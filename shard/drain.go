package shard

import "sync/atomic"

// drain lets callers wait until a closed queue is quiescent: nothing ready and
// nothing in processing. A closed shard that is quiescent stays so, since adds are
// dropped and its timers are gone; so each shard reports once, and the last report
// ends the wait.
type drain struct {
	// owing counts the shards that have not reported, and one more until the
	// shutdown has passed through all shards.
	owing atomic.Int32
	// done is closed when owing comes to 0.
	done chan struct{}
	// current is closed, and replaced, by each ShutDown.
	current atomic.Pointer[chan struct{}]
}

func (d *drain) init() {
	d.owing.Store(1)
	d.done = make(chan struct{})
	released := make(chan struct{})
	d.current.Store(&released)
}

// owe announces a report to come.
func (d *drain) owe() { d.owing.Add(1) }

// settle is a report.
func (d *drain) settle() {
	if d.owing.Add(-1) == 0 {
		close(d.done)
	}
}

// released returns a channel that the next release closes.
func (d *drain) released() <-chan struct{} { return *d.current.Load() }

// release ends the waits that are under way.
func (d *drain) release() {
	next := make(chan struct{})
	close(*d.current.Swap(&next))
}

// wait blocks until the queue is quiescent or the wait is released.
func (d *drain) wait(released <-chan struct{}) {
	select {
	case <-d.done:
	case <-released:
	}
}

// quiet reports whether nothing in the shard is ready or in processing.
func (sh *shard[T]) quiet() bool { return sh.fifo.length == 0 && sh.processing == 0 }

// settles reports, at the end of a processing, that the shard owes a drain its quiescence
// and has reached it. That happens once: no processing begins in a closed shard that is
// quiet.
func (sh *shard[T]) settles() bool { return sh.owed && sh.quiet() }
