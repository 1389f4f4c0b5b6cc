package shardqtest

import (
	"context"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// MaxAttempts limits the attempts of one item in a call of a [Driver], and of
// all items to a hundred times as many. A call that needs more fails the test,
// because an item seems to run again forever. In [Driver.RunFor] it limits the
// attempts at one reading of the clock.
const MaxAttempts = 10_000

// A Driver processes the items of a queue when the test says so, and moves the
// queue's clock. It is made by [Drive] or [DriveCoalescer].
//
// Each of its methods returns when the items are settled, and between two calls
// nothing happens. So with one shard, the order of all attempts is fixed. A
// Driver is for one goroutine at a time. A handler and a hook may use the
// queue, but not the Driver. A panic of a hook passes through the call.
type Driver[T any] struct {
	t       TB
	queue   shardq.Inspector
	time    timeline
	context context.Context
	// call makes the source of a pool of a call.
	call func(*call[T]) worker.Source[T]
	// due returns when the item's delay expires, or zero.
	due     func(item T) time.Time
	options worker.Options[T]
	batch   int // the most items in one call of the handler
	record  record[T]
}

// Drive returns a driver of a queue, with the options of its workers. Fake must
// be the queue's clock. In a bubble of testing/synctest, fake may be nil, and
// the queue then has its usual clock. A fault of the options, or another clock
// than the queue's, fails the test.
//
// Workers, Drain and DrainTimeout have no effect. Handlers get the context of t
// if t has one, as [testing.T] does.
func Drive[T comparable](t TB, queue *shardq.Queue[T], fake *clock.Fake, options worker.Options[T]) *Driver[T] {
	t.Helper()
	d := &Driver[T]{
		t: t, queue: queue, time: timeline{fake}, options: options,
		record: record[T]{key: func(item T) any { return item }},
		call: func(c *call[T]) worker.Source[T] {
			c.queue = queue
			return queueCall[T]{queue, c}
		},
		due: func(item T) time.Time {
			found, _ := queue.Lookup(item)
			return found.Deadline
		},
	}
	d.begin()
	return d
}

// DriveCoalescer is [Drive] for a coalescer.
func DriveCoalescer[K comparable, V any](
	t TB, c *coalesce.Coalescer[K, V], fake *clock.Fake, options worker.Options[coalesce.Entry[K, V]],
) *Driver[coalesce.Entry[K, V]] {
	t.Helper()
	type entry = coalesce.Entry[K, V]
	keys := c.Queue()
	d := &Driver[entry]{
		t: t, queue: keys, time: timeline{fake}, options: options,
		record: record[entry]{key: func(e entry) any { return e.Key }},
		call: func(one *call[entry]) worker.Source[entry] {
			one.queue = c
			return coalescerCall[K, V]{c, one}
		},
		due: func(e entry) time.Time {
			found, _ := keys.Lookup(e.Key)
			return found.Deadline
		},
	}
	d.begin()
	return d
}

// begin checks the options, and makes the hooks record what happens.
func (d *Driver[T]) begin() {
	d.t.Helper()
	d.context = context.Background()
	if with, has := d.t.(interface{ Context() context.Context }); has {
		d.context = with.Context()
	}
	d.batch = max(1, d.options.BatchSize)
	d.options.Workers, d.options.Drain, d.options.DrainTimeout = 1, nil, 0
	if _, err := worker.New(d.call(&call[T]{}), d.options); err != nil { // before wrap, which moves Use
		d.t.Fatalf("shardqtest: %v", err)
	}
	d.record.wrap(&d.options)
	if err := d.time.check(d.queue); err != nil {
		d.t.Fatalf("shardqtest: %v", err)
	}
}

// Step processes the next ready item, and returns what happened. It returns
// false if no item is ready that a pause, a rate or a limit lets through. A
// HandleBatch gets a batch of one.
func (d *Driver[T]) Step() (attempt Attempt[T], ok bool) {
	d.t.Helper()
	if attempts := d.run(1); len(attempts) > 0 {
		return attempts[0], true
	}
	return attempt, false
}

// RunReady processes items until none is ready, and returns all attempts in
// their order. It does not move the clock.
func (d *Driver[T]) RunReady() (attempts []Attempt[T]) {
	d.t.Helper()
	return d.runReady(nil, map[any]int{})
}

// RunUntilIdle processes items, and moves the clock to the next deadline, token
// of a rate or end of a pause whenever none can run, until the queue holds
// nothing. It returns all attempts in their order. It fails the test if what is
// left cannot run, and says why.
func (d *Driver[T]) RunUntilIdle() (attempts []Attempt[T]) {
	d.t.Helper()
	counted := map[any]int{}
	for {
		attempts = d.runReady(attempts, counted)
		if _, delayed := d.AdvanceToNext(); !delayed {
			break
		}
	}
	if d.queue.Stats().Held > 0 {
		d.t.Fatalf("shardqtest: the queue is not idle, and nothing in it can run\n%s", contents(d.queue))
	}
	return attempts
}

// RunFor processes the items that are ready now or become ready in the next d,
// and returns all attempts in their order. Afterwards d has passed on the
// clock. A negative duration fails the test.
func (d *Driver[T]) RunFor(duration time.Duration) (attempts []Attempt[T]) {
	d.t.Helper()
	d.requireForward("RunFor", duration)
	end := d.time.now().Add(duration)
	for {
		attempts = d.runReady(attempts, map[any]int{})
		left := end.Sub(d.time.now())
		if left <= 0 {
			return attempts
		}
		if next, delayed := d.next(); delayed {
			left = min(left, next)
		}
		d.time.pass(left)
	}
}

// Advance lets time pass, and processes nothing. A negative duration fails the
// test.
func (d *Driver[T]) Advance(duration time.Duration) {
	d.t.Helper()
	d.requireForward("Advance", duration)
	d.time.pass(duration)
}

func (d *Driver[T]) requireForward(method string, duration time.Duration) {
	d.t.Helper()
	if duration < 0 {
		d.t.Fatalf("shardqtest: Driver.%s was called with %v: want 0 or more", method, duration)
	}
}

// AdvanceToNext lets time pass until the next delay has expired, and returns
// how much that was. It returns false if an item is ready, or none is delayed.
func (d *Driver[T]) AdvanceToNext() (passed time.Duration, ok bool) {
	d.t.Helper()
	for range maxPasses {
		next, delayed := d.next()
		if !delayed || d.claimable() {
			return passed, passed > 0
		}
		d.time.pass(next)
		passed += next
	}
	d.t.Fatalf("shardqtest: no delay has expired in %v: want the queue's clock to be that of the Driver\n%s",
		passed, contents(d.queue))
	return passed, false
}

// maxPasses limits the times at which a delay may turn out to have been
// canceled or put off: see [shardq.Stats].
const maxPasses = 1 << 16

// next returns the time until the next deadline, token or end of a pause, which
// is at least a nanosecond, and whether there is one.
func (d *Driver[T]) next() (time.Duration, bool) {
	s := d.queue.Stats()
	next := s.NextDue
	if next.IsZero() || !s.NextToken.IsZero() && s.NextToken.Before(next) {
		next = s.NextToken
	}
	return max(1, next.Sub(d.time.now())), !next.IsZero()
}

// runReady appends attempts until no item is ready, and counts them.
func (d *Driver[T]) runReady(attempts []Attempt[T], counted map[any]int) []Attempt[T] {
	d.t.Helper()
	for {
		more := d.run(d.batch)
		if len(more) == 0 {
			return attempts
		}
		for _, attempt := range more {
			key := d.record.key(attempt.Item)
			attempts, counted[key] = append(attempts, attempt), counted[key]+1
			if counted[key] > MaxAttempts || len(attempts) > 100*MaxAttempts {
				d.t.Fatalf("shardqtest: the queue is not idle after %d attempts, of which %d are of one item. "+
					"The last one was\n  %v\n%s", len(attempts), counted[key], attempt, contents(d.queue))
			}
		}
	}
}

// run calls the handler once, with at most that many items.
func (d *Driver[T]) run(most int) []Attempt[T] {
	d.t.Helper()
	if !d.claimable() {
		return nil
	}
	d.record.begin(d.time.now())
	pool, err := worker.New(d.call(&call[T]{most: most, onTake: d.record.take}), d.options)
	if err == nil {
		err = pool.Run(d.context)
	}
	if err != nil {
		d.t.Fatalf("shardqtest: %v", err)
	}
	return d.record.end(d.time.now(), d.due)
}

// claimable reports whether an item is ready, and neither the queue nor its
// group holds it back. Another consumer may take the item right after.
func (d *Driver[T]) claimable() bool {
	s := d.queue.Stats()
	if s.Closed {
		return false
	}
	if s.Throttled == 0 {
		return s.Ready > 0
	}
	for group := range d.queue.Groups() {
		if group.Ready > 0 && !group.Throttled {
			return true
		}
	}
	return false
}
