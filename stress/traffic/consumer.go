package traffic

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/stress/ledger"
	"github.com/shardq/shardq/worker"
)

func (r *round) startConsumers() {
	if r.plan.has(pools) {
		r.startPool()
		return
	}
	for range r.plan.consumers {
		a := r.newActor()
		r.consumers.Go(a.consume)
	}
}

// consume takes keys until the queue is shut down. A Get does not wait for what
// is paused then. So only a Get that was called after the gates were opened for
// good tells that nothing is left.
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
	a.ledger.Look(&a.sight)
	switch way := a.IntN(8); {
	case way < 2 && a.plan.has(claims):
		return a.takeClaim(way == 0 && !a.calm.Load())
	case way == 2 && a.plan.has(claims):
		return a.takeClaims()
	case way == 3 && a.plan.has(items) && !a.calm.Load():
		return a.takeItems()
	case way == 4 && !a.calm.Load():
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
	if key >= 0 {
		a.ledger.Begin(key, &a.sight)
	}
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
	switch {
	case key < 0:
		a.queue.Done(key)
	case a.process(key):
		a.runAgain(key, ends{
			retry:   func() error { return doneAfter(func() { a.queue.AddRateLimited(key) }) },
			release: func() error { return doneAfter(func() { a.queue.Add(key) }) },
			requeue: func(d time.Duration) error {
				return doneAfter(func() { a.queue.Forget(key); a.queue.AddAfter(key, d) })
			},
		})
	default:
		a.finish(key)
		a.queue.Done(key)
		a.ledger.Ran(key)
	}
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
		delay = a.plan.leastBackoff(failures)
		end, failures = by.retry, failures+1
	case 1:
		delay, failures = a.upTo(longest), 0
		end = func() error { return by.requeue(delay) }
	}
	number := a.ledger.Again(key, a.now()+int64(delay), failures)
	switch err := end(); {
	case err == nil:
		if !a.plan.has(cancels) || a.ledger.Class(key) != ledger.Free { // otherwise its run may be canceled
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
	if a.ledger.Class(key) == ledger.Free {
		if a.chance(4) {
			a.addFree(key, a.someOptions(), true)
		} else if a.plan.has(cancels) && a.chance(16) {
			a.cancelFree(key)
		}
	}
	return a.plan.has(retries) && a.chance(5) && a.ledger.MayRetry(key)
}

// takeItems takes some keys by Items. The body may panic.
func (a *actor) takeItems() (goesOn bool) {
	ctx, cancel := context.WithTimeout(a.context, a.upTo(2*time.Millisecond))
	defer cancel()
	last, broke := -1, false
	attempt(func() {
		for key := range a.queue.Items(ctx) {
			a.ledger.Ran(last)
			last = key
			a.took(key)
			if key >= 0 {
				a.process(key)
				a.finish(key)
			}
			a.ledger.Look(&a.sight)
			if broke = a.chance(6); broke && a.plan.has(panics) {
				panic(errHostile)
			} else if broke {
				break
			}
		}
	})
	a.ledger.Ran(last)
	return a.context.Err() == nil && (broke || ctx.Err() != nil || !a.queue.ShuttingDown())
}

func (a *actor) takeClaim(try bool) (goesOn bool) {
	c, ok := claim{}, false
	if try {
		c, ok = a.queue.TryClaim()
	} else if taken, err := a.queue.Claim(a.context); err != nil {
		return a.mayFail(err, a.context)
	} else {
		c, ok = taken, true
	}
	if ok {
		a.begin(c)
		a.endClaim(c)
	}
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
	if c.Item >= 0 {
		a.ledger.Fence(c.Item, c.Fence())
		a.ledger.CheckFailures(c.Item, c.Failures())
	}
	a.found.If(!c.Valid(), "claims: the claim to key %d is not valid", c.Item)
}

func (a *actor) endClaims(all []claim) {
	for _, c := range all {
		if c.Item >= 0 {
			a.process(c.Item)
			a.ledger.Finish(c.Item)
		}
	}
	own, want := all, error(nil)
	if len(a.late) > 0 && a.chance(3) {
		all, want = append(all[:len(all):len(all)], a.late[a.IntN(len(a.late))]), worker.ErrClaimEnded
	}
	err := a.queue.DoneClaims(all)
	a.found.If(!errors.Is(err, want), "claims: DoneClaims returned %v, want %v", err, want)
	for _, c := range own {
		a.ledger.Ran(c.Item)
	}
}

func (a *actor) endClaim(c claim) {
	a.endLate()
	switch key := c.Item; {
	case key < 0:
		a.endOnce(c)
	case a.process(key):
		a.runAgain(key, ends{c.Retry, c.Release, c.RequeueAfter})
	default:
		a.ledger.Finish(key)
		a.endOnce(c)
		a.ledger.Ran(key)
	}
	a.late = append(a.late, c)
	if n := len(a.late) - 1; n >= 16 {
		a.late[a.IntN(n)], a.late = c, a.late[:n]
	}
}

// endOnce calls Done, sometimes in two goroutines at once.
func (a *actor) endOnce(c claim) {
	if !a.chance(16) {
		err := c.Done()
		a.found.If(err != nil, "claims: Done of key %d returned %v", c.Item, err)
		return
	}
	errs := twice(c.Done)
	a.found.If((errs[0] == nil) == (errs[1] == nil),
		"claims: two Dones of the claim to key %d returned %v", c.Item, errs)
}

// endLate ends a claim that has ended, perhaps while another consumer has its
// key.
func (a *actor) endLate() {
	if len(a.late) == 0 || !a.chance(4) {
		return
	}
	c := a.late[a.IntN(len(a.late))]
	ends := []func() error{c.Done, c.Retry, c.Release, func() error { return c.RequeueAfter(longest) }}
	err := ends[a.IntN(len(ends))]()
	a.found.If(c.Valid() || !errors.Is(err, worker.ErrClaimEnded),
		"claims: a late end of the claim to key %d returned %v (valid: %t)", c.Item, err, c.Valid())
}
