package traffic

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/stress/ledger"
)

const longest = 4 * time.Millisecond

func (a *actor) produce(n int) {
	for i := 0; i < n && !a.found.Any(); i++ {
		if key := a.IntN(a.plan.keys); a.ledger.Owned(key) {
			a.produceOwned(key)
		} else {
			a.produceFree(key)
		}
		if a.chance(4) {
			runtime.Gosched()
		}
	}
}

type outcome int

const (
	accepted outcome = iota
	unsure           // a shutdown may have refused it
	refused
)

func (a *actor) produceFree(key int) {
	switch {
	case a.plan.cancels && a.chance(8):
		a.cancelFree(key)
	case a.plan.batches && !a.plan.strict && a.chance(6):
		a.produceBatch()
	default:
		a.addFree(key, a.someOptions(), false)
	}
}

func (a *actor) addFree(key int, o addOptions, held bool) {
	number := a.ledger.Want(key)
	if a.add(key, o, held) == accepted {
		a.ledger.Land(key, number, isDelayed(o))
	}
}

func isDelayed(o addOptions) bool {
	return o.After > 0 || o.RateLimited || o.Policy == shardq.KeepLatest || o.Policy == shardq.KeepOld
}

func (a *actor) someOptions() (o addOptions) {
	if a.plan.delays && a.chance(3) {
		o.After = a.upTo(longest)
	}
	if a.plan.retries && a.chance(8) {
		o.RateLimited = true
	}
	if a.plan.delays && a.chance(2) {
		o.Policy = shardq.DelayPolicy(a.IntN(4))
		if a.chance(2) {
			o.MaxWait = a.upTo(longest)
		}
	}
	if a.chance(2) {
		o.Priority = a.IntN(a.plan.priorities)
	}
	return o
}

// add adds a key by one of the methods that can. A held key needs no room.
func (a *actor) add(key int, o addOptions, held bool) outcome {
	a.adds.Add(1)
	switch admit := a.plan.strict || a.plan.capacity > 0 && a.chance(2); {
	case admit && a.chance(2):
		return a.judge(a.queue.TryAdd(key, o), held, true)
	case admit || a.chance(8):
		return a.addContext(key, o, held)
	case o == addOptions{}:
		a.queue.Add(key)
	case o == addOptions{After: o.After}:
		a.queue.AddAfter(key, o.After)
	case o == addOptions{RateLimited: true}:
		a.queue.AddRateLimited(key)
	case a.plan.batches && a.chance(4):
		a.queue.AddBatch([]int{key}, o)
	default:
		a.queue.AddWith(key, o)
	}
	if a.queue.ShuttingDown() {
		return unsure
	}
	return accepted
}

// A holder of a key must not wait for long.
func (a *actor) addContext(key int, o addOptions, held bool) outcome {
	lasts := !held && a.chance(2)
	ctx := a.context
	if !lasts {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.upTo(time.Millisecond))
		defer cancel()
	}
	err := a.queue.AddContext(ctx, key, o)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return refused
	}
	return a.judge(err, held, false)
}

func (a *actor) judge(err error, held, mayBeFull bool) outcome {
	switch {
	case err == nil:
		return accepted
	case errors.Is(err, shardq.ErrShutDown) && a.queue.ShuttingDown():
		return refused
	case errors.Is(err, shardq.ErrFull) && mayBeFull && a.plan.capacity > 0 && !held:
		return refused
	}
	a.found.Add("capacity: an add returned %v (held: %t)", err, held)
	return refused
}

func (a *actor) produceBatch() {
	o, keys := a.someOptions(), make([]int, 2+a.IntN(70))
	numbers := make([]int64, len(keys))
	for i := range keys {
		keys[i] = a.someFree()
		numbers[i] = a.ledger.Want(keys[i])
	}
	a.adds.Add(uint64(len(keys)))
	a.queue.AddBatch(keys, o)
	sure := !a.queue.ShuttingDown()
	for i, key := range keys {
		if sure {
			a.ledger.Land(key, numbers[i], isDelayed(o))
		}
	}
}

func (a *actor) someFree() int { return a.IntN(a.plan.keys) &^ 1 }

func (a *actor) cancelFree(key int) {
	a.cancel(key)
	a.ledger.Excuse(key)
}

func (a *actor) cancel(key int) shardq.Canceled {
	c := a.queue.Cancel(key)
	if c.Ready || c.Dirty {
		a.withdrawn.Add(1)
	}
	return c
}

func (a *actor) own(key int) bool {
	if !a.ledger.Own(key) {
		return false
	}
	item, held := a.queue.Lookup(key)
	a.found.If(held && !a.plan.pool && !a.ledger.Hurried.Load() && !a.queue.ShuttingDown(),
		"conservation: key %d is idle, and Lookup says %v", key, item)
	if held {
		a.ledger.Disown(key)
	}
	return !held
}

// produceOwned adds an idle key, at once or with a delay.
func (a *actor) produceOwned(key int) {
	if !a.own(key) {
		return
	}
	o := addOptions{Priority: a.IntN(a.plan.priorities)}
	if a.plan.delays && a.chance(2) {
		o.After = a.upTo(longest)
	}
	cancels := a.plan.cancels && a.chance(6)
	number := a.ledger.Expect(key, ledger.Now()+int64(o.After), cancels)
	switch a.add(key, o, false) {
	case accepted:
		a.ledger.Land(key, number, o.After > 0)
		a.leave(key, cancels)
	case unsure:
		a.ledger.Unsure(key)
		a.ledger.Leave(key)
	default:
		a.ledger.TakenBack(key, "capacity")
	}
}

func (a *actor) leave(key int, cancels bool) {
	if !cancels {
		a.ledger.Leave(key)
		return
	}
	if a.cancel(key).Any() {
		a.ledger.TakenBack(key, "cancel")
		return
	}
	item, _ := a.queue.Lookup(key)
	a.found.If(item.State == stats.Ready || item.State == stats.Delayed, "cancel: after a Cancel key %d is %v", key, item.State)
	a.ledger.Leave(key)
}
