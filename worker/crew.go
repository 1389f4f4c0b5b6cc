package worker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/internal/foreach"
	"github.com/shardq/shardq/internal/nowait"
)

// A crew is the part of a [Pool] that touches no item: the contexts of the
// handlers, the workers' coming and going, and the end. It is compiled once,
// whatever the items are.
type crew struct {
	pool     typedPool
	source   any
	name     string
	limits   limits
	drains   bool         // Options.Drain is set
	timed    bool         // hooks need durations
	oneByOne bool         // with Options.BatchWeight, a queue is asked for one item at a time
	over     *timeIsOver  // the cause of the end of a context by Options.Timeout
	failing  *atomic.Bool // an attempt has failed since the last success

	mu      sync.Mutex
	state   poolState   // only ever grows
	wanted  int         // the number of workers asked for
	staying []*seat     // workers that were not asked to leave
	started int         // the number of workers that were ever started
	present int         // workers that have not left
	fault   *PanicError // what Run panics with
	broken  error       // the source's error, which Run returns
	// With AbandonAfter, handling says since when which handlers run, and overdue
	// that Run waits for them no longer. Run's error names the abandoned ones.
	handling  map[*seat]time.Time
	overdue   bool
	abandoned []*attempt
	served    bool // a worker that has left had an item

	// Set when Run begins.
	context context.Context // the handlers' context: its end is the end for all
	hooks   context.Context // of the hooks: it has the values of context, and does not end
	stop    context.CancelFunc
	left    chan struct{}   // closed when no worker is left for which Run waits
	lingers context.Context // with Options.Linger: ends when no worker may linger any more
	hurry   context.CancelFunc
}

// A typedPool is the [Pool] of a crew.
type typedPool interface {
	newWorker() *seat
	drain(ctx context.Context) (dropped int, err error) // keeps what Options.Drain has dropped
	reportDropped(i int)
	leftoverLocked() error // what the hook keeps has kept, or nil
}

type poolState int

const (
	notRun  poolState = iota // Run was not called
	running                  // workers are started as they are wanted
	closing                  // no more workers are started
	ended                    // Run has returned, or is about to
)

// prepare makes the crew, or returns the faults of the options and the source.
func (c *crew) prepare(pool typedPool, source any, l limits, g given, inUse []error) error {
	name, fault := c.nameOfSource(source)
	limits := l.MaxAttempts > 0 || l.MaxElapsed > 0
	if of, is := source.(inspectedSource); is && fault == nil && limits && of.Inspect().Configuration().Uncounted {
		fault = errors.New("worker: Options.MaxAttempts or MaxElapsed is set: want it with a limiter that counts failures")
	}
	if err := errors.Join(validate(l, g), errors.Join(inUse...), fault); err != nil {
		return err
	}
	if waits, is := part[waitSource](source); is && l.showsAttempts() {
		waits.KeepWaits()
	}
	c.failing = new(atomic.Bool)
	if shared, is := part[failingSource](source); is {
		c.failing = shared.Failing()
	}
	c.pool, c.source, c.name, c.limits, c.wanted = pool, source, name, l, l.Workers
	c.drains, c.timed = g.drain, g.timed
	c.over = &timeIsOver{context.DeadlineExceeded}
	c.left, c.handling = make(chan struct{}), map[*seat]time.Time{}
	return nil
}

// nameOfSource also returns an error for a nil pointer, and for a struct that
// embeds a nil queue, whose Name panics.
func (c *crew) nameOfSource(source any) (name string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("worker: New was called with a source whose Name panics: %v", r)
		}
	}()
	if v := reflect.ValueOf(source); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", errors.New("worker: New was called without a source")
	}
	return c.nameFor(source), nil
}

func (c *crew) run(ctx context.Context) (err error) {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer func() {
		c.end()
		if older, is := err.(interface{ Refresh() error }); is { // workers went on after a drain that timed out
			c.inGoroutine(func() { err = older.Refresh() })
		}
		if fault := c.conclude(&err); fault != nil {
			panic(fault)
		}
	}()
	tooLate := false
	if source, is := c.source.(endingSource); is {
		c.inGoroutine(func() { tooLate = source.ShuttingDown() })
	}
	if source, is := part[lingerSource](c.source); is && c.hurry != nil {
		defer context.AfterFunc(source.Ending(), c.hurry)()
	}
	select {
	case <-c.left:
		if tooLate && !c.served && ctx.Err() == nil && c.isSourceEmpty() {
			return ErrShutDown
		}
		return nil
	case <-c.context.Done(): // without a drain, or after a fault
		return nil
	case <-ctx.Done():
	}
	if !c.drains {
		return nil
	}
	if c.hurry != nil { // without a drain, the lingers end after the handlers' context
		c.hurry()
	}
	return c.drain()
}

// isSourceEmpty reports whether an ended source holds no items. Paused items may be
// left, or an item that another consumer has.
func (c *crew) isSourceEmpty() (empty bool) {
	source, is := c.source.(countedSource)
	if is {
		c.inGoroutine(func() { empty = source.Stats().Held == 0 })
	}
	return empty || !is
}

// conclude adds to the error of the drain what else Run returns, or panics with.
func (c *crew) conclude(err *error) (fault *PanicError) {
	c.inGoroutine(func() { foreach.Do(len(c.abandoned), c.nameAbandoned) }) // without the lock: it asks owners
	// Abandoned workers go on.
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.pool.leftoverLocked()
	if c.broken != nil {
		*err = errors.Join(c.broken, *err)
	}
	if left != nil {
		*err = errors.Join(*err, left)
	}
	if c.fault != nil {
		c.fault.Run = *err
	}
	return c.fault
}

func (c *crew) begin(ctx context.Context) error {
	inner := ctx
	if c.drains {
		inner = context.WithoutCancel(ctx) // a drain goes on after the end of ctx
	}
	if c.limits.Labels {
		inner = pprof.WithLabels(inner, pprof.Labels("queue", c.name))
	}
	if marks, is := part[contextSource](c.source); is {
		inner = marks.HandlerContext(inner)
	}
	inner, stop := context.WithCancel(inner)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != notRun {
		stop()
		if c.state == ended {
			return errors.New("worker: Pool.Run has ended and cannot be called again: make another Pool with New")
		}
		return errors.New("worker: Pool.Run was called while it runs")
	}
	c.context, c.hooks, c.stop, c.state = inner, context.WithoutCancel(inner), stop, running
	if c.limits.Linger > 0 {
		c.lingers, c.hurry = context.WithCancel(inner)
	}
	c.startLocked()
	return nil
}

func (c *crew) drain() (err error) {
	ctx := c.context
	if c.limits.DrainTimeout > 0 {
		limited, release := context.WithTimeout(ctx, c.limits.DrainTimeout)
		defer release()
		defer context.AfterFunc(limited, c.stop)() // Drain may take long to list what is left
		ctx = limited
	}
	ctx, release := context.WithCancel(ctx)
	defer release()
	go c.releaseDrain(ctx, release)
	dropped := 0
	defer func() {
		c.stop() // what a worker still has, it has beyond the drain
		c.inGoroutine(func() { foreach.Do(dropped, c.pool.reportDropped) })
	}()
	returned := false
	c.inGoroutine(func() {
		dropped, err = c.pool.drain(ctx)
		returned = true
	})
	if !returned { // a hook panicked or ended its goroutine
		c.inGoroutine(func() { dropped, err = c.pool.drain(nowait.Ended) })
	}
	return err
}

// releaseDrain ends a drain that would wait for items which no worker takes any more.
// After another caller's ShutDown, workers leave when nothing is ready, and then
// another consumer may give an item back. A drain alone lets none leave before.
func (c *crew) releaseDrain(ctx context.Context, release func()) {
	select {
	case <-c.left:
		if !c.isSourceEmpty() {
			release()
		}
	case <-ctx.Done():
	}
}

// inGoroutine runs do, which calls hooks, so that a panic or a Goexit ends neither
// a worker nor Run.
func (c *crew) inGoroutine(do func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer c.catch()
		do()
	}()
	<-over
}

// catch must be deferred around user code whose panic is no handler's failure.
func (c *crew) catch() {
	if r := recover(); r != nil {
		c.fail(panicError(r), nil)
	}
}

func (c *crew) end() {
	c.stop()
	c.mu.Lock()
	if c.state == running {
		c.state = closing
		c.reportLeftLocked()
	}
	c.mu.Unlock()
	if c.limits.AbandonAfter > 0 {
		defer time.AfterFunc(c.limits.AbandonAfter, c.abandon).Stop()
	}
	<-c.left
}

// abandon makes Run wait no longer for handlers. It still waits for workers
// between a handler and the end of the claim: no hook is called after Run.
func (c *crew) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overdue = true
	c.reportLeftLocked()
}

// hasLeft is the last call of each worker. ShutDown: the source has nothing more.
func (c *crew) hasLeft(one *seat, shutDown bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present--
	c.served = c.served || one.served
	if shutDown && c.state == running {
		c.state = closing // another worker would find the same
	}
	c.reportLeftLocked()
}

// reportLeftLocked must be called whenever all workers may have left, or be in
// handlers that Run abandons. Once it has closed left, no worker can start.
func (c *crew) reportLeftLocked() {
	busy := 0
	if c.overdue {
		busy = len(c.handling)
	}
	if c.state != closing || c.present > busy {
		return
	}
	c.state = ended
	for one, began := range c.handling {
		for i := range max(one.n, one.batch.held) { // the claims change only after a note
			a := one.worker.newAttempt(i)
			a.crew, a.took = c, time.Since(began) // not by the stopwatch, which stops without the lock
			a.interrupted = i >= one.n            // held for a next batch
			c.abandoned = append(c.abandoned, a)
		}
	}
	clear(c.handling)
	close(c.left)
}

// fail makes all workers leave. The first fault and the first error count.
func (c *crew) fail(fault *PanicError, broken error) {
	c.mu.Lock()
	if c.fault == nil {
		c.fault = fault
	}
	if c.broken == nil {
		c.broken = broken
	}
	c.mu.Unlock()
	c.stop()
}

// ended takes the result of the end of a claim. It is no fault if other code
// has ended the claim.
func (c *crew) ended(err error) {
	if err != nil {
		c.endedWith(err) // apart, so that ended is inlined
	}
}

func (c *crew) endedWith(err error) {
	if !errors.Is(err, ErrClaimEnded) {
		c.fail(nil, err)
	}
}

func (c *crew) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

func (c *crew) resizeTo(n int) {
	if n < 0 {
		panic(fmt.Sprintf("worker: Pool.Resize was called with %d: want 0 or more", n))
	}
	c.resize(func(int) int { return n })
}

func (c *crew) resizeBy(delta int) (wanted int) {
	return c.resize(func(wanted int) int { return max(0, wanted+delta) })
}

func (c *crew) resize(to func(wanted int) int) (wanted int) {
	wanted, leaving := c.want(to)
	for _, one := range leaving {
		one.leave() // ends a context, which must not happen under a lock
	}
	return wanted
}

func (c *crew) want(to func(wanted int) int) (n int, leaving []*seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = to(c.wanted)
	c.wanted = n
	if c.state != running {
		return n, nil
	}
	c.startLocked()
	if len(c.staying) > n {
		leaving = append(leaving, c.staying[n:]...)
		clear(c.staying[n:])
		c.staying = c.staying[:n]
	}
	return n, leaving
}

func (c *crew) startLocked() {
	for len(c.staying) < c.wanted {
		c.started++
		one := c.pool.newWorker()
		one.sit(c, c.started)
		c.staying = append(c.staying, one)
		c.present++
		go one.live()
	}
}
