package traffic

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shardq/shardq"
)

// end plays the planned ending, and shuts the queue down. The function ended
// waits for the producers and for the helpers, which open all gates.
func (r *round) end(ended func()) {
	a := r.newActor()
	switch r.plan.ending {
	case atRest:
		ended()
		r.rest()
		r.queue.ShutDown()
	case withDrain:
		ended()
		a.burst(50, 0)
		r.together(3, func(int) {
			r.queue.ShutDownWithDrain()
			r.checkDrained("ShutDownWithDrain")
		}, func() {})
	case storm:
		a.awaitSomeMoment()
		r.together(1+a.IntN(6), func(n int) {
			if n%2 == 0 {
				r.queue.ShutDownWithDrain()
			}
			r.queue.ShutDown()
		}, ended)
	case drained:
		a.awaitSomeMoment()
		r.hurry()
		r.together(1+a.IntN(3), r.drainToTheEnd, ended)
	case drainedEarly:
		a.awaitSomeMoment()
		r.hurry()
		for range 1 + a.IntN(3) {
			a.drainEarly()
		}
		if a.chance(2) {
			r.together(1, r.drainToTheEnd, ended)
		} else {
			r.queue.ShutDown()
			ended()
		}
	}
}

func (r *round) together(n int, do func(int), ended func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	ended()
	all.Wait()
}

func (a *actor) awaitSomeMoment() {
	from := a.sum(adds) + uint64(a.IntN(1+a.plan.adds*2/3))
	for a.sum(adds) < from && a.producing.Load() > 0 && !a.found.Any() {
		yield()
	}
}

// hurry is called before a drain that cuts delays short.
func (r *round) hurry() {
	if r.plan.drain.Delayed == shardq.RunDelayed {
		r.ledger.Hurried.Store(true)
	}
}

// drainToTheEnd drains with a context that does not end. A pool drains when its
// own context ends.
func (r *round) drainToTheEnd(int) {
	if r.pool != nil && r.plan.ending == drained {
		r.endPool()
		return
	}
	dropped, err := r.queue.Drain(r.context, r.plan.drain)
	r.drop(dropped)
	left := r.queue.Stats().Delayed
	r.found.If(!r.found.Any() && (err != nil || left > 0), "drain: Drain returned %v, and %d keys are delayed", err, left)
	r.checkDrained("Drain")
}

func (a *actor) drainEarly() {
	ctx, cancel := context.WithTimeout(a.context, a.upTo(time.Millisecond)*time.Duration(a.IntN(2)))
	defer cancel()
	dropped, err := a.queue.Drain(ctx, a.plan.drain)
	a.drop(dropped)
	if err == nil {
		a.checkDrained("Drain")
		return
	}
	left, ok := errors.AsType[*shardq.DrainError[int]](err)
	// It may end before its context, if gates are shut until then.
	if !ok || !errors.Is(err, context.DeadlineExceeded) && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		a.found.Add("drain: Drain returned %v, and the error of its context is %v", err, ctx.Err())
		return
	}
	n := left.Ready + left.Processing + left.Delayed
	a.found.If(n != len(left.Left()), "drain: %d keys are left, and Left has %d", n, len(left.Left()))
}

func (r *round) drop(keys []int) {
	for _, key := range keys {
		if key < 0 || key >= r.plan.keys {
			r.found.Add("drain: a drain returned key %d", key)
			return
		}
		r.found.If(r.plan.drain.Delayed != shardq.DropDelayed && !r.queue.ShuttingDown(),
			"drain: a drain that drops nothing returned key %d", key)
		r.ledger.NotAgain(key)
	}
}
