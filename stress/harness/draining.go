package harness

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Drain as the ending of a round (C42). The round's policy decides about
// delayed items, and drains return each dropped item once.

// returned keeps the items that drains have returned.
type returned struct {
	sync.Mutex
	keys map[int]bool
}

// drainByContext ends the queue by several drains while producers are at work.
// After a drain that ends early, there is a ShutDown, or a drain that does not
// end early.
func (r *round) drainByContext(a *actor) {
	r.awaitSomeMoment(a)
	all := &returned{keys: map[int]bool{}}
	if r.plan.Delayed == shardq.RunDelayed && r.ledger != nil {
		r.ledger.hurried.Store(true)
	}
	if r.plan.EndsEarly {
		r.endEarly(a, all)
		return
	}
	var callers sync.WaitGroup
	for range 1 + a.roll(3) {
		callers.Go(func() { r.drainToTheEnd(all) })
	}
	callers.Wait()
}

// drainToTheEnd calls Drain with a context that does not end.
func (r *round) drainToTheEnd(all *returned) {
	dropped, err := r.queue.drain(r.context, shardq.DrainOptions{Delayed: r.plan.Delayed})
	r.enterDropped(dropped, err, all)
	if err != nil {
		r.violated.report("C42", -1, "Drain returned %v, and neither its context ended nor was ShutDown called", err)
		return
	}
	r.checkDrained("C42", "Drain")
	if s, ok := r.queue.stats(); ok && s.Delayed > 0 {
		r.violated.report("C42", -1, "Drain returned with %d items delayed", s.Delayed)
	}
}

// endEarly lets drains end early, at once or soon. In half of the rounds,
// workers keep keys meanwhile, so that the drains have to end early.
func (r *round) endEarly(a *actor, all *returned) {
	held, gated := 0, a.chance(2)
	if gated {
		held = r.surely(r.closeGate(a))
	}
	for range 1 + a.roll(3) {
		r.drainFor(time.Duration(a.roll(2)*a.roll(500))*time.Microsecond, held, all)
	}
	if gated {
		r.shutDownADrain(held, all)
		r.gate.open()
	} else if a.chance(2) && r.plan.Delayed != shardq.AwaitDelayed {
		r.drainToTheEnd(all)
		return
	}
	r.queue.ShutDown()
}

// surely returns the least number of keys in processing when held workers have
// one.
func (r *round) surely(held int) int {
	if r.mayEndTurns() {
		return 0
	}
	return held
}

// mayEndTurns reports whether a surplus Done may end the turn of a worker.
func (r *round) mayEndTurns() bool { return r.ledger != nil && r.plan.Mix.Has(Misuse) }

// closeGate closes the gate, and returns the number of workers at it, at least
// one.
func (r *round) closeGate(a *actor) (held int) {
	r.gate.close()
	for r.gate.held.Load() == 0 && !r.violated.stopped.Load() {
		r.lastWave(a)
		pause()
	}
	return int(r.gate.held.Load())
}

// drainFor calls Drain with a context that ends after a while. Meanwhile, held
// keys are not Done.
func (r *round) drainFor(limit time.Duration, held int, all *returned) {
	ctx, cancel := context.WithTimeout(r.context, limit)
	defer cancel()
	dropped, err := r.queue.drain(ctx, shardq.DrainOptions{Delayed: r.plan.Delayed})
	r.enterDropped(dropped, err, all)
	switch {
	case err == nil && held > 0:
		r.violated.report("C42", -1, "Drain returned nil, and %d workers have keys", held)
	case err == nil:
		r.checkDrained("C42", "Drain")
	case ctx.Err() == nil:
		r.violated.report("C42", -1, "Drain returned %v, and its context has not ended", err)
	default:
		r.checkLeft(err, ctx.Err(), held)
	}
}

// shutDownADrain begins a drain that cannot end because held keys are in
// processing, and ends it by a ShutDown.
func (r *round) shutDownADrain(held int, all *returned) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		dropped, err := r.queue.drain(r.context, shardq.DrainOptions{Delayed: r.plan.Delayed})
		r.enterDropped(dropped, err, all)
		switch {
		case err != nil:
			r.checkLeft(err, shardq.ErrShutDown, held)
		case held > 0:
			r.violated.report("C42", -1, "Drain returned nil, and a worker has a key")
		}
	}()
	if !r.releases(over) {
		r.violated.report("C42", -1, "a ShutDown did not end a Drain within %v", grace)
		return
	}
	<-over
}

// checkLeft checks the error of a Drain that ends early.
func (r *round) checkLeft(err, cause error, held int) {
	var left *drainLeft
	if !errors.As(err, &left) || !errors.Is(err, cause) || left.Error() == "" {
		r.violated.report("C42", -1, "Drain returned %v, want a DrainError with the cause %v", err, cause)
		return
	}
	sum := left.processing + left.ready + left.delayed
	switch {
	case left.processing < held:
		r.violated.report("C42", -1, "Drain reported %d items in processing, and %d workers have one: %v", left.processing, held, err)
	case left.ready < 0 || left.delayed < 0 || sum > r.plan.Keys:
		r.violated.report("C42", -1, "Drain reported an impossible count for %d keys: %v", r.plan.Keys, err)
	case len(left.items) != sum:
		r.violated.report("C42", -1, "Drain reported %d items as left: %v", len(left.items), err)
	}
	r.checkNamed(left.items)
}

// checkNamed checks that the items are sorted by state.
func (r *round) checkNamed(rows []stats.Item[int]) {
	rank := map[stats.State]int{stats.Processing: 1, stats.Ready: 2, stats.Delayed: 3}
	last := 0
	for _, row := range rows {
		if n := rank[row.State]; n < max(last, 1) || row.Item < 0 || row.Item >= r.plan.Keys {
			r.violated.report("C42", -1, "among the items left, in the wrong place: %+v", row)
		} else {
			last = n
		}
	}
}

// enterDropped records the keys that a Drain dropped: their adds need no run.
func (r *round) enterDropped(keys []int, err error, all *returned) {
	all.Lock()
	defer all.Unlock()
	if len(keys) > 0 && r.plan.Delayed != shardq.DropDelayed && !errors.Is(err, shardq.ErrShutDown) {
		r.violated.report("C42", -1, "Drain returned %d items, and none may be dropped", len(keys))
	}
	for _, key := range keys {
		switch {
		case key < 0 || key >= r.plan.Keys:
			r.violated.report("C42", -1, "Drain returns an item that no actor adds")
			return
		case all.keys[key]:
			r.violated.report("C42", key, "key %d was returned twice by drains", key)
		case r.ledger != nil:
			r.ledger.returned(key)
		}
		all.keys[key] = true
	}
}

// returned is called for a key that a Drain dropped.
func (l *ledger) returned(key int) {
	r := &l.keys[key]
	if n := r.wanted.Load(); n == 0 || classOf(key) == ordered {
		l.violated.report("C42", key, "key %d was returned by a drain, and no actor had added it with a delay", key)
	} else {
		raise(&r.excused, n)
	}
}
