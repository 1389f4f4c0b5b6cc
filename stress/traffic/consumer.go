package traffic

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/stress/ledger"
	"github.com/shardq/shardq/worker"
)

func (r *round) startConsumers() {
	if r.plan.pool {
		r.startPool()
		return
	}
	for range r.plan.consumers {
		a := r.newActor()
		r.consumers.Go(a.consume)
	}
}

// consume takes keys until the queue is shut down. A Get does not wait for what
// is paused then. So only a Get that was called after all was resumed for good
// tells that nothing is left.
func (a *actor) consume() {
	for opened := false; ; yield() {
		for opened = a.opened.Load(); a.take(); opened = a.opened.Load() {
		}
		if opened {
			return
		}
	}
}

// take takes some keys in one of the ways, and reports false if the queue is
// shut down.
func (a *actor) take() (goesOn bool) {
	switch way := a.IntN(8); {
	case way < 2 && a.plan.claims:
		return a.takeClaim()
	case way == 2 && a.plan.claims:
		return a.takeClaims()
	case way == 3 && !a.calm.Load():
		ctx, cancel := context.WithTimeout(a.context, a.upTo(time.Millisecond))
		defer cancel()
		key, err := a.queue.GetContext(ctx)
		if err != nil {
			return a.mayFail(err, ctx)
		}
		a.workByGet(key)
		return true
	}
	key, shutdown := a.queue.Get()
	if !shutdown {
		a.workByGet(key)
	}
	return !shutdown
}

// mayFail checks the error of a call that takes nothing.
func (a *actor) mayFail(err error, ctx context.Context) (goesOn bool) {
	switch {
	case errors.Is(err, shardq.ErrShutDown) && a.queue.ShuttingDown():
		return false
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		a.found.Add("a call that takes keys returned %v", err)
	}
	return !a.found.Any()
}

func (a *actor) took(key int) {
	a.gets.Add(1)
	a.ledger.Begin(key)
}

func (a *actor) workByGet(key int) {
	a.took(key)
	doneAfter := func(add func()) error {
		add()
		sure := !a.queue.ShuttingDown()
		if a.queue.Done(key); !sure {
			return errUnsure
		}
		return nil
	}
	if a.process(key) {
		a.runAgain(key, ends{
			retry:   func() error { return doneAfter(func() { a.queue.AddRateLimited(key) }) },
			release: func() error { return doneAfter(func() { a.queue.Add(key) }) },
			requeue: func(d time.Duration) error {
				return doneAfter(func() { a.queue.Forget(key); a.queue.AddAfter(key, d) })
			},
		})
		return
	}
	a.finish(key)
	a.queue.Done(key)
	a.ledger.Ran(key)
}

// errUnsure says that a shutdown may have refused an add.
var errUnsure = errors.New("a shutdown has begun")

func (a *actor) finish(key int) {
	if a.ledger.Failures(key) > 0 || a.chance(4) {
		a.queue.Forget(key)
	}
	a.ledger.Finish(key)
}

// ends are the ways to end a processing so that the key runs again.
type ends struct {
	retry, release func() error
	requeue        func(time.Duration) error
}

func (a *actor) runAgain(key int, by ends) {
	a.adds.Add(1)
	end, failures, delay := by.release, a.ledger.Failures(key), time.Duration(0)
	switch a.IntN(3) {
	case 0:
		delay = leastBackoff(failures)
		end, failures = by.retry, failures+1
	case 1:
		delay, failures = a.upTo(longest), 0
		end = func() error { return by.requeue(delay) }
	}
	number := a.ledger.Again(key, ledger.Now()+int64(delay), failures)
	switch err := end(); {
	case err == nil:
		if !a.plan.cancels || a.ledger.Owned(key) { // otherwise its run may be canceled
			a.ledger.Land(key, number, delay > 0)
		}
	case errors.Is(err, errUnsure):
		a.ledger.Unsure(key)
	case delay > 0 && errors.Is(err, shardq.ErrShutDown) && a.queue.ShuttingDown():
		a.ledger.NotAgain(key)
	default:
		a.found.Add("claims: the return of key %d returned %v", key, err)
	}
}

// process does what workers do with a key that they hold. It reports whether the
// key is to run again.
func (a *actor) process(key int) (again bool) {
	if a.chance(3) {
		runtime.Gosched()
	}
	a.ledger.CheckFailures(key, a.queue.NumRequeues(key))
	if a.chance(4) {
		item, ok := a.queue.Lookup(key)
		a.found.If(item.State != stats.Processing, "listings: a consumer has key %d, and Lookup says %v %v", key, item, ok)
	}
	if !a.ledger.Owned(key) {
		if a.chance(4) {
			a.addFree(key, a.someOptions(), true)
		} else if a.plan.cancels && a.chance(16) {
			a.cancelFree(key)
		}
	}
	return a.plan.retries && a.chance(5) && a.ledger.MayRetry(key)
}

func (a *actor) takeClaim() (goesOn bool) {
	c, err := a.queue.Claim(a.context)
	if err != nil {
		return a.mayFail(err, a.context)
	}
	a.begin(c)
	a.endClaim(c)
	return true
}

// takeClaims takes some keys by ClaimBatch, and ends some of them together.
func (a *actor) takeClaims() (goesOn bool) {
	n, err := a.queue.ClaimBatch(a.context, a.batch[:1+a.IntN(mostBatch)])
	if err != nil {
		return a.mayFail(err, a.context)
	}
	for _, c := range a.batch[:n] {
		a.begin(c)
	}
	single := a.IntN(n + 1)
	for _, c := range a.batch[:single] {
		a.endClaim(c)
	}
	a.endClaims(a.batch[single:n])
	return true
}

func (a *actor) begin(c claim) {
	a.took(c.Item)
	a.ledger.Fence(c.Item, c.Fence())
	a.ledger.CheckFailures(c.Item, c.Failures())
	a.found.If(!c.Valid(), "claims: the claim to key %d is not valid", c.Item)
}

func (a *actor) endClaims(all []claim) {
	for _, c := range all {
		a.process(c.Item)
		a.ledger.Finish(c.Item)
	}
	err := a.queue.DoneClaims(all)
	a.found.If(err != nil, "claims: DoneClaims returned %v", err)
	for _, c := range all {
		a.ledger.Ran(c.Item)
	}
}

func (a *actor) endClaim(c claim) {
	a.endLate()
	if key := c.Item; a.process(key) {
		a.runAgain(key, ends{c.Retry, c.Release, c.RequeueAfter})
	} else {
		a.ledger.Finish(key)
		a.endOnce(c)
		a.ledger.Ran(key)
	}
	a.late = &c
}

// endOnce calls Done, sometimes in two goroutines at once.
func (a *actor) endOnce(c claim) {
	if !a.chance(16) {
		err := c.Done()
		a.found.If(err != nil, "claims: Done of key %d returned %v", c.Item, err)
		return
	}
	var both sync.WaitGroup
	var errs [2]error
	for i := range errs {
		both.Go(func() { errs[i] = c.Done() })
	}
	both.Wait()
	a.found.If((errs[0] == nil) == (errs[1] == nil),
		"claims: two Dones of the claim to key %d returned %v", c.Item, errs)
}

// endLate ends a claim that has ended, perhaps while another consumer has its
// key.
func (a *actor) endLate() {
	if a.late == nil || !a.chance(4) {
		return
	}
	c := *a.late
	ends := []func() error{c.Done, c.Retry, c.Release, func() error { return c.RequeueAfter(longest) }}
	err := ends[a.IntN(len(ends))]()
	a.found.If(c.Valid() || !errors.Is(err, worker.ErrClaimEnded),
		"claims: a late end of the claim to key %d returned %v (valid: %t)", c.Item, err, c.Valid())
}
