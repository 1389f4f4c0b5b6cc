package traffic

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/shardq/shardq"
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
		r.fill(a)
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
	s := r.queue.Stats()
	for _, c := range []struct {
		what        string
		queue, want uint64
	}{
		{"adds that asked for a run, with the hand-outs and what was canceled,", s.Added, r.sum(gets) + r.sum(withdrawn)},
		{"Cancels", s.Canceled, r.sum(canceled)},
		{"misuses", s.Misused, r.sum(misuses)},
		{"calls of OnMisuse", r.misused.Load(), r.sum(misuses)},
		{"discarded keys", s.Discarded, r.discarded.Load()},
	} {
		r.found.If(c.queue != c.want,
			"conservation: %s: the queue has counted %d, and the actors %d", c.what, c.queue, c.want)
	}
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
	switch way := a.IntN(5); {
	case way == 0 && a.plan.has(pauses) && (a.plan.groups == 0 || a.chance(2)):
		r.queue.Pause()
		a.burst(burst, 0)
		r.queue.Resume()
	case way <= 1 && a.plan.has(pauses) && a.plan.groups > 0:
		until := []time.Time{{}, a.clock().Now().Add(a.upTo(longest))}[way]
		for group := range a.plan.groups {
			r.queue.PauseGroup(groupName(group+1), until)
		}
		a.burst(burst, 0)
		for group := range a.plan.groups * (1 - way) {
			r.queue.ResumeGroup(groupName(group + 1))
		}
	case way == 2 && a.plan.has(rates):
		r.queue.SetRate(shardq.Rate{PerSecond: 1})
		a.burst(burst, 0)
		r.queue.SetRate(shardq.Rate{})
	case way == 3 && a.plan.has(delays):
		a.burst(burst, longest)
	default:
		a.burst(burst, 0)
	}
	r.becomesIdle()
}

func (a *actor) burst(n int, delay time.Duration) {
	for range n {
		after := min(delay, a.upTo(longest))
		a.addFree(a.IntN(a.plan.keys)&^3, addOptions{After: after}, false)
	}
}

// fill fills the queue to its capacity while it is paused. Then there is no room
// for one key more, unless a Get that had begun before the pause has made some.
func (r *round) fill(a *actor) {
	free := a.plan.keys / 4 // multiples of 4 are free keys
	if r.plan.capacity == 0 || r.plan.capacity >= free || r.found.Any() {
		return
	}
	r.queue.Pause()
	taken := r.sum(gets)
	for n := range r.plan.capacity + 1 {
		number := r.ledger.Want(4 * n)
		switch err := r.queue.TryAdd(4*n, addOptions{}); {
		case err == nil:
			r.ledger.Land(4*n, number, false)
		case n < r.plan.capacity:
			r.found.Add("capacity: with %d keys of %d, TryAdd returned %v", n, r.plan.capacity, err)
		}
	}
	held := r.queue.Stats().Held
	r.found.If(held > r.plan.capacity && taken == r.sum(gets), "capacity: the queue holds %d keys", held)
	waiting, key := make(chan error, 1), 4*(r.plan.capacity+1)%r.plan.keys
	r.ledger.Want(key)
	go func() { waiting <- r.queue.AddContext(r.context, key, addOptions{}) }()
	r.queue.Resume()
	err := <-waiting
	r.found.If(err != nil, "capacity: AddContext returned %v", err)
	r.becomesIdle()
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
	r.found.If(r.plan.capacity > 0 && r.high.Load(), "watermarks: at the end, the last call was with high=true")
	r.found.If(r.fake != nil && !r.plan.has(rates|pauses) && r.fake.Timers() > 0, "shutdown: at the end, timers are set")
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > r.begun; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			r.found.Add("shutdown: %d goroutines are left:\n%s", runtime.NumGoroutine()-r.begun, stacks[:runtime.Stack(stacks, true)])
			return
		}
	}
}

func (r *round) checkShutDown() {
	if r.found.Any() {
		return
	}
	ctx, dropped := context.Background(), r.queue.Stats().Dropped
	r.queue.Add(0)
	r.queue.AddAfter(0, longest)
	_, claim := r.queue.Claim(ctx)
	try, add := r.queue.TryAdd(0, addOptions{}), r.queue.AddContext(ctx, 0, addOptions{})
	for _, err := range []error{claim, try, add} {
		r.found.If(!errors.Is(err, shardq.ErrShutDown), "shutdown: a call returned %v", err)
	}
	_, shutdown := r.queue.Get()
	left, err := r.queue.Drain(ctx, shardq.DrainOptions{})
	now := r.queue.Stats().Dropped
	r.found.If(!shutdown || len(left) > 0 || err != nil || now < dropped+2,
		"shutdown: Get: %t, Drain: %v %v, Dropped: %d, then %d", shutdown, left, err, dropped, now)
	r.queue.ShutDownWithDrain()
	r.queue.ShutDown()
}

// checkDrained is called when a complete drain has returned.
func (r *round) checkDrained(by string) {
	key, s := r.ledger.Held(), r.queue.Stats()
	r.found.If(!r.found.Any() && (key >= 0 || s.Ready+s.Processing > 0),
		"drain: %s has returned, a consumer has key %d, and Stats is %+v", by, key, s)
}
