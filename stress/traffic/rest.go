package traffic

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/shardq/shardq"
)

// rest waits until the queue holds nothing, and checks it. Then it uses the
// queue a little, call by call, which no other traffic hides.
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

// becomesIdle waits for the queue to hold nothing, and reports whether it does.
func (r *round) becomesIdle() bool {
	if err := r.queue.WaitIdle(r.context); err != nil {
		if !r.found.Any() {
			r.found.Add("WaitIdle returned %v", err)
		}
		return false
	}
	if s := r.queue.Stats(); s.Ready+s.Processing+s.Delayed+s.Held+s.Groups+r.queue.Len() != 0 {
		r.found.Add("conservation: WaitIdle has returned, and Stats is %+v", s)
	}
	r.ledger.Settle()
	r.checkCounts()
	return !r.found.Any()
}

// checkCounts compares the queue's counters with those of the actors.
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
		if c.queue != c.want {
			r.found.Add("conservation: %s: the queue has counted %d, and the actors %d", c.what, c.queue, c.want)
		}
	}
}

// ping adds some keys while all consumers are parked, and waits until they have
// run.
func (r *round) ping(a *actor) {
	for tries := 0; tries < 2000 && r.queue.Stats().Parked == 0; tries++ {
		runtime.Gosched()
	}
	burst := 1 + a.IntN(r.plan.consumers+1)
	if r.plan.strict {
		burst = 1
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

// burst adds keys in a row, with a delay of at most that.
func (a *actor) burst(n int, delay time.Duration) {
	for range n {
		o := addOptions{}
		if delay > 0 {
			o.After = a.upTo(delay)
		}
		key := a.IntN(a.plan.keys) &^ 3 // free
		a.addFree(key, o, false)
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
	if held := r.queue.Stats().Held; held > r.plan.capacity && taken == r.sum(gets) {
		r.found.Add("capacity: the queue holds %d keys", held)
	}
	waiting, key := make(chan error, 1), 4*(r.plan.capacity+1)
	r.ledger.Want(key % r.plan.keys)
	go func() { waiting <- r.queue.AddContext(r.context, key%r.plan.keys, addOptions{}) }()
	r.queue.Resume()
	if err := <-waiting; err != nil {
		r.found.Add("capacity: AddContext returned %v", err)
	}
	r.becomesIdle()
}

// settle checks a queue that is shut down, when all actors have left.
func (r *round) settle() {
	if r.found.Any() {
		return
	}
	s := r.queue.Stats()
	if s.Ready+s.Processing+s.Delayed+s.Held+s.Groups+s.Parked+s.Workers+r.queue.Len() != 0 || !s.ShuttingDown {
		r.found.Add("conservation: at the end, Stats is %+v", s)
	}
	r.ledger.Settle()
	r.checkCounts()
	r.checkShutDown(s.Dropped)
	if r.plan.capacity > 0 && r.high.Load() {
		r.found.Add("watermarks: at the end, the last call was with high=true")
	}
	if r.fake != nil && r.fake.Timers() > 0 && !r.plan.has(rates|pauses) {
		r.found.Add("shutdown: at the end, %d timers are set", r.fake.Timers())
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > r.begun; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			r.found.Add("shutdown: %d goroutines are left:\n%s", runtime.NumGoroutine()-r.begun, stacks[:runtime.Stack(stacks, true)])
			return
		}
	}
}

// checkShutDown checks what calls of a queue return that is shut down.
func (r *round) checkShutDown(dropped uint64) {
	ctx := context.Background()
	r.queue.Add(0)
	r.queue.AddAfter(0, longest)
	_, claim := r.queue.Claim(ctx)
	try, add := r.queue.TryAdd(0, addOptions{}), r.queue.AddContext(ctx, 0, addOptions{})
	for _, err := range []error{claim, try, add} {
		if !errors.Is(err, shardq.ErrShutDown) {
			r.found.Add("shutdown: a call returned %v", err)
		}
	}
	_, shutdown := r.queue.Get()
	left, err := r.queue.Drain(ctx, shardq.DrainOptions{})
	if now := r.queue.Stats().Dropped; !shutdown || len(left) > 0 || err != nil || now < dropped+2 {
		r.found.Add("shutdown: Get: %t, Drain: %v %v, Dropped: %d, then %d", shutdown, left, err, dropped, now)
	}
	r.queue.ShutDownWithDrain()
	r.queue.ShutDown()
}

// checkDrained is called when a complete drain has returned.
func (r *round) checkDrained(by string) {
	if r.found.Any() {
		return
	}
	if key := r.ledger.Held(); key >= 0 {
		r.found.Add("drain: %s has returned, and a consumer has key %d", by, key)
	}
	if s := r.queue.Stats(); s.Ready+s.Processing > 0 {
		r.found.Add("drain: %s has returned, and Stats is %+v", by, s)
	}
}
