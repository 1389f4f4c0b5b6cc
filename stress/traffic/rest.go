package traffic

import (
	"runtime"
	"time"
)

// rest waits until the queue holds nothing, checks it, and uses it a little.
func (r *round) rest() {
	if r.becomesIdle() {
		r.calm.Store(true)
		a := r.newActor()
		for range 3 + a.IntN(6) {
			r.ping(a)
		}
		r.calm.Store(false)
	}
}

func (r *round) becomesIdle() bool {
	if err := r.queue.WaitIdle(r.context); err != nil {
		r.found.If(!r.found.Any(), "WaitIdle returned %v", err)
		return false
	}
	s := r.queue.Stats()
	r.found.If(s.Ready+s.Processing+s.Delayed+s.Held+s.Groups+r.queue.Len() != 0,
		"conservation: WaitIdle has returned, and Stats is %+v", s)
	r.ledger.Settle()
	r.checkCounts()
	return !r.found.Any()
}

func (r *round) checkCounts() {
	added, want := r.queue.Stats().Added, r.sum(gets)+r.sum(withdrawn)
	r.found.If(added != want,
		"conservation: the queue has counted %d adds that asked for a run; %d were handed out or canceled", added, want)
}

// ping adds some keys while all consumers are parked, and waits until they have
// run.
func (r *round) ping(a *actor) {
	all := r.plan.consumers
	if r.pool != nil {
		all = r.pool.Len()
	}
	for tries := 0; tries < 200 && r.queue.Stats().Parked < all; tries++ {
		yield()
	}
	burst := 1 + a.IntN(r.plan.consumers+1)
	if r.plan.capacity > 0 {
		burst = 1 // more may wait for room, and nothing makes some
	}
	switch way := a.IntN(3); {
	case way == 0 && a.plan.pauses:
		r.queue.Pause()
		a.burst(burst, 0)
		r.queue.Resume()
	case way == 1 && a.plan.delays:
		a.burst(burst, longest)
	default:
		a.burst(burst, 0)
	}
	r.becomesIdle()
}

func (a *actor) burst(n int, delay time.Duration) {
	for range n {
		after := min(delay, a.upTo(longest))
		a.addFree(a.someFree(), addOptions{After: after}, false)
	}
}

// settle checks a queue that is shut down, when all actors have left.
func (r *round) settle() {
	if r.found.Any() {
		return
	}
	s := r.queue.Stats()
	r.found.If(s.Ready+s.Processing+s.Delayed+s.Held+s.Groups+s.Parked+s.Workers+r.queue.Len() != 0 || !s.ShuttingDown,
		"conservation: at the end, Stats is %+v", s)
	r.ledger.Settle()
	r.checkCounts()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > r.begun; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			r.found.Add("shutdown: %d goroutines are left:\n%s", runtime.NumGoroutine()-r.begun, stacks[:runtime.Stack(stacks, true)])
			return
		}
	}
}

// checkDrained is called when a complete drain has returned.
func (r *round) checkDrained(by string) {
	key, s := r.ledger.Held(), r.queue.Stats()
	r.found.If(!r.found.Any() && (key >= 0 || s.Ready+s.Processing > 0),
		"drain: %s has returned, a consumer has key %d, and Stats is %+v", by, key, s)
}
