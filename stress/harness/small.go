package harness

import (
	"runtime"
	"sync"
	"time"
)

// smallQueues makes and drops many queues (C25, C14): some are shut down,
// others not, with items in every state. At the end no goroutine and no memory
// of them is left.
func (r *round) smallQueues(target Target) *account {
	before := heap()
	var all sync.WaitGroup
	makers := r.plan.Producers
	for range makers {
		a := r.newActor()
		all.Go(func() {
			for range max(1, r.plan.Adds/makers/50) {
				if r.violated.stopped.Load() {
					return
				}
				a.useSmall(target.open(r.request()))
			}
		})
	}
	all.Wait()
	sum := r.sum()
	r.queue = nil
	r.checkGoroutines()
	time.Sleep(2 * longestDelay) // a running delay refers to its queue
	if kept := int64(heap()) - int64(before); kept > 4<<20 {
		r.violated.report("C8", -1, "%d bytes are left of queues that were dropped", kept)
	}
	return sum
}

// useSmall uses a queue a little.
func (a *actor) useSmall(q queue) {
	keys := 1 + a.roll(20)
	use := func(f func()) {
		a.sign()
		attempt(f)
	}
	for range a.roll(50) {
		key := a.roll(keys)
		switch a.roll(8) {
		case 0:
			use(func() { q.AddAfter(key, time.Duration(a.roll(int(longestDelay)))) })
		case 1:
			use(func() { q.AddRateLimited(key) })
		case 2:
			use(func() { q.Forget(key) })
		case 3, 4, 5:
			use(func() { q.Add(key) })
		default:
			a.takeOne(q)
		}
	}
	switch a.roll(3) {
	case 0:
		q.ShutDown()
	case 1:
		for q.Len() > 0 {
			a.takeOne(q)
		}
		runtime.Gosched()
	}
}

// takeOne gets an item if there is one. No other actor uses the queue.
func (a *actor) takeOne(q queue) {
	if q.Len() == 0 {
		return
	}
	key, _ := q.Get()
	a.gets++
	a.sign()
	for attempt(func() { q.Done(key) }) == hashPanics {
	}
}
