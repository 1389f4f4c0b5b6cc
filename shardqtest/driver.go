// Package shardqtest helps to test programs that use a queue. [RequireQueued] and
// the like check the state of an item. A [Driver] is a pool of workers that
// processes one item, or all until the queue is idle, and moves the queue's clock
// from one deadline to the next. A [Script] is a handler that does as it is told.
package shardqtest

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/worker"
)

// TB is the part of [testing.TB] that the package needs. Fatalf must not return.
type TB interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// MaxAttempts limits the attempts of one item in a call of a [Driver]. The
// limit of all items together is a hundred times as high. A call that needs
// more fails the test.
const MaxAttempts = 10_000

// A Driver processes the items of a queue when the test says so, and moves the
// queue's clock. Its methods return when the items are settled, and between two
// calls nothing happens. So with one shard, the order of all attempts is fixed. A
// Driver is for one goroutine at a time, and not for handlers and hooks.
type Driver[T any] struct {
	t       TB
	queue   shardq.Inspector
	source  source[T]
	fake    *clock.Fake // or nil in a bubble
	context context.Context
	options worker.Options[T]
	record  record[T]
}

// Drive returns a driver of a queue, with the options of its workers, of which
// Workers, Drain and DrainTimeout have no effect. Fake must be the queue's clock,
// or nil in a bubble of testing/synctest. Handlers get the context of t.
func Drive[T comparable](t TB, queue *shardq.Queue[T], fake *clock.Fake, options worker.Options[T]) *Driver[T] {
	t.Helper()
	return drive(t, queue, queue, fake, options, func(item T) T { return item })
}

// DriveCoalescer is [Drive] for a coalescer.
func DriveCoalescer[K comparable, V any](
	t TB, c *coalesce.Coalescer[K, V], fake *clock.Fake, options worker.Options[coalesce.Entry[K, V]],
) *Driver[coalesce.Entry[K, V]] {
	t.Helper()
	return drive(t, c.Queue(), c, fake, options, func(e coalesce.Entry[K, V]) K { return e.Key })
}

func drive[T any, K comparable](
	t TB, queue Queue[K], of source[T], fake *clock.Fake, options worker.Options[T], key func(T) K,
) *Driver[T] {
	t.Helper()
	d := &Driver[T]{t: t, queue: queue, source: of, fake: fake, options: options, context: context.Background()}
	d.record.key = func(item T) any { return key(item) }
	d.record.due = func(item T) time.Time {
		found, _ := queue.Lookup(key(item))
		return found.Deadline
	}
	if with, has := t.(interface{ Context() context.Context }); has {
		d.context = with.Context()
	}
	d.options.Workers, d.options.Drain, d.options.DrainTimeout = 1, nil, 0
	_, err := worker.New(d.source, d.options) // before wrap, which moves Use
	d.record.wrap(&d.options)
	if err == nil {
		err = d.checkClock()
	}
	if err != nil {
		t.Fatalf("shardqtest: %v", err)
	}
	return d
}

// Step processes the next ready item, and returns what happened. It returns
// false if no item is ready, or if a pause, a rate or a limit holds back all
// ready items.
func (d *Driver[T]) Step() (attempt Attempt[T], ok bool) {
	d.t.Helper()
	if attempts := d.run(1); len(attempts) > 0 {
		return attempts[0], true
	}
	return attempt, false
}

// RunReady processes items until none is ready. It does not move the clock.
func (d *Driver[T]) RunReady() (attempts []Attempt[T]) {
	d.t.Helper()
	return d.runReady(nil, map[any]int{})
}

// RunUntilIdle processes items until the queue holds nothing. Whenever no item
// can run, it moves the clock to the next deadline, token of a rate or end of a
// pause. It fails the test if the items left cannot run, and says why.
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

// RunFor processes the items that become ready until duration has passed.
func (d *Driver[T]) RunFor(duration time.Duration) (attempts []Attempt[T]) {
	d.t.Helper()
	d.requireForward("RunFor", duration)
	end := d.now().Add(duration)
	for {
		attempts = d.runReady(attempts, map[any]int{})
		left := end.Sub(d.now())
		if left <= 0 {
			return attempts
		}
		if next, delayed := d.next(); delayed {
			left = min(left, next)
		}
		d.pass(left)
	}
}

// Advance lets time pass, and processes nothing.
func (d *Driver[T]) Advance(duration time.Duration) {
	d.t.Helper()
	d.requireForward("Advance", duration)
	d.pass(duration)
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
	for range 1 << 16 { // so often a delay may turn out to have been canceled or put off
		next, delayed := d.next()
		if !delayed || d.claimable() {
			return passed, passed > 0
		}
		d.pass(next)
		passed += next
	}
	d.t.Fatalf("shardqtest: no delay has expired in %v: want the queue's clock to be that of the Driver\n%s",
		passed, contents(d.queue))
	return passed, false
}

func (d *Driver[T]) next() (time.Duration, bool) {
	s := d.queue.Stats()
	next := s.NextDue
	if next.IsZero() || !s.NextToken.IsZero() && s.NextToken.Before(next) {
		next = s.NextToken
	}
	return max(1, next.Sub(d.now())), !next.IsZero()
}

func (d *Driver[T]) runReady(attempts []Attempt[T], counted map[any]int) []Attempt[T] {
	d.t.Helper()
	for {
		more := d.run(max(1, d.options.BatchSize))
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

func (d *Driver[T]) run(most int) []Attempt[T] {
	d.t.Helper()
	if !d.claimable() {
		return nil
	}
	d.record.begin(d.now())
	pool, err := worker.New(&call[T]{source: d.source, most: most, onTake: d.record.take}, d.options)
	if err == nil {
		err = pool.Run(d.context)
	}
	if err != nil && err != worker.ErrShutDown { // another consumer has the item
		d.t.Fatalf("shardqtest: %v", err)
	}
	return d.record.end(d.now())
}

// claimable: an item is ready, and neither the queue nor its group holds it back.
func (d *Driver[T]) claimable() bool {
	s := d.queue.Stats()
	if s.Closed || s.Throttled == 0 {
		return s.Ready > 0 && !s.Closed
	}
	for group := range d.queue.Groups() {
		if group.Ready > 0 && !group.Throttled {
			return true
		}
	}
	return false
}

func (d *Driver[T]) checkClock() (err error) {
	if d.fake != nil {
		if its := d.queue.Inspect().Snapshot(0).Time; !its.Equal(d.fake.Now()) {
			return fmt.Errorf("the queue's clock reads %v, and the fake clock %v: "+
				"want the same clock in the Options of the queue", its, d.fake.Now())
		}
		return nil
	}
	if of := d.queue.Inspect().Configuration().Clock; of != "real" {
		return fmt.Errorf("the queue has a %s, and the Driver no clock: want the queue's fake clock", of)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("there is no fake clock, and no bubble of testing/synctest: want one of them (%v)", r)
		}
	}()
	synctest.Wait()
	return nil
}

func (d *Driver[T]) now() time.Time {
	if d.fake != nil {
		return d.fake.Now()
	}
	return time.Now()
}

func (d *Driver[T]) pass(duration time.Duration) {
	if d.fake != nil {
		d.fake.Step(duration)
		return
	}
	time.Sleep(duration)
	synctest.Wait()
}

type source[T any] interface {
	worker.Source[T]
	shardq.Inspector
	ShuttingDown() bool
	DoneClaims(claims []worker.Claim[T]) error
}

// A call is the source of a pool that calls the handler once: it hands out what
// one ClaimBatch of the queue returns, and then says that the queue has ended.
type call[T any] struct {
	source[T]
	most   int // the most items
	made   bool
	onTake func(claims []worker.Claim[T])
}

func (c *call[T]) ClaimBatch(ctx context.Context, dst []worker.Claim[T]) (int, error) {
	if c.made {
		return 0, worker.ErrShutDown
	}
	c.made = true
	n, err := c.source.ClaimBatch(&nowait.Context{Context: ctx}, dst[:min(c.most, len(dst))])
	if errors.Is(err, nowait.Err) {
		return 0, worker.ErrShutDown
	}
	c.onTake(dst[:n])
	return n, err
}
