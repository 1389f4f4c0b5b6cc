package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// A Pool is a number of workers that process the items of a [Source]. It is
// made by [New], and runs once, by [Pool.Run]. All methods are safe for
// concurrent use. The handler and the hooks may call all of them but Run.
type Pool[T any] struct {
	source  Source[T]
	name    string
	options Options[T]
	// plain and timed are what the options say of each attempt.
	plain, timed bool

	mu      sync.Mutex
	state   poolState
	wanted  int          // the number of workers asked for
	staying []*worker[T] // workers that were not asked to leave
	started int          // the number of workers that were ever started
	present int          // workers that have not left
	fault   *PanicError  // what Run panics with
	broken  error        // the source's error, which Run returns

	// failing says that an attempt has failed since the last success.
	failing atomic.Bool

	// Set when Run begins.
	context context.Context // the handlers' context: its end is the end for all
	hooks   context.Context // of the hooks: it has the values of context, and does not end
	stop    context.CancelFunc
	left    chan struct{} // closed when the state is closing and all have left
	// lingers ends when no worker may linger any more. It is set with
	// Options.Linger.
	lingers context.Context
	hurry   context.CancelFunc
}

// A poolState is the state of a Pool. It only ever grows.
type poolState int

const (
	notRun  poolState = iota // Run was not called
	running                  // workers are started as they are wanted
	closing                  // no more workers are started
	ended                    // Run has returned
)

// New returns a pool for source, or an error that lists every fault of the
// options. It starts nothing.
func New[T any](source Source[T], options Options[T]) (*Pool[T], error) {
	var fault error
	name := ""
	if isNil(source) {
		fault = errors.New("worker: New was called without a source")
	} else {
		name, fault = nameOfSource(source)
	}
	handle, faultOfUse := wrap(options.Handle, options.Use)
	if err := errors.Join(options.validate(), faultOfUse, fault); err != nil {
		return nil, err
	}
	options.Handle = handle
	if waits, is := part[waitSource](source); is && options.showsAttempts() {
		waits.KeepWaits()
	}
	return &Pool[T]{
		source: source, name: name, options: options,
		plain: options.plain(), timed: options.needsDurations(),
		wanted: options.Workers, left: make(chan struct{}),
	}, nil
}

// nameOfSource returns the name of a source. A struct that embeds a nil queue
// panics here, and could not hand out anything either.
func nameOfSource(source any) (name string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("worker: New was called with a source whose Name panics: %v", r)
		}
	}()
	return nameOf(source, ""), nil
}

// Run starts the workers and blocks until all of them have left. It can be
// called once.
//
// When ctx ends and [Options].Drain is nil, the handlers' contexts end. Workers
// finish the items that they have and leave, and Run returns nil.
//
// When ctx ends and Drain is set, the handlers' contexts live on, and the
// workers go on while Drain runs. Run passes the items that it dropped to
// OnLeftover, or else to OnDiscard. If DrainTimeout passes first, or another
// call shuts the source down, the handlers' contexts end, the workers leave,
// and Run returns Drain's error, which lists what is left.
//
// If something else shuts the source down, workers leave when nothing is ready,
// and Run returns nil. What is paused then stays in the source. Without workers
// Run does not notice.
//
// An error of the source, or of the end of a claim, ends the handlers'
// contexts, and Run returns it. A handler that does not return when its context
// ends keeps Run from returning.
//
// A panic of a hook, or of what the source calls (such as a limiter or a
// clock), is no failure of the item. The item is settled as if the hook had
// returned. The handlers' contexts end, all workers leave without a Drain, and
// Run panics with a [*PanicError] in its caller's goroutine.
func (p *Pool[T]) Run(ctx context.Context) (err error) {
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer func() {
		p.end()
		if err != nil {
			p.inGoroutine(func() { err = refreshed(err) }) // workers went on after a drain that timed out
		}
		p.passFaultOn()
		if p.broken != nil {
			err = errors.Join(p.broken, err)
		}
	}()
	select {
	case <-p.left:
		return nil
	case <-p.context.Done(): // without a drain, or after a fault
		return nil
	case <-ctx.Done():
	}
	if p.hurry != nil {
		p.hurry()
	}
	if p.options.Drain != nil {
		return p.drain()
	}
	return nil
}

func refreshed(err error) error {
	if older, is := err.(interface{ Refresh() error }); is {
		return older.Refresh()
	}
	return err
}

func (p *Pool[T]) begin(ctx context.Context) error {
	inner := ctx
	if p.options.Drain != nil {
		inner = context.WithoutCancel(ctx) // a drain goes on after the end of ctx
	}
	inner, stop := context.WithCancel(p.options.labeled(inner, p.name))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case notRun:
		p.context, p.hooks, p.stop, p.state = inner, context.WithoutCancel(inner), stop, running
		if p.options.Linger > 0 {
			p.lingers, p.hurry = context.WithCancel(inner)
		}
		p.startLocked()
		return nil
	case ended:
		stop()
		return errors.New("worker: Pool.Run has ended and cannot be called again: make another Pool with New")
	default:
		stop()
		return errors.New("worker: Pool.Run was called while it runs")
	}
}

// drain drains the source while the workers go on, and returns its error.
func (p *Pool[T]) drain() (err error) {
	ctx := p.context
	if p.options.DrainTimeout > 0 {
		limited, release := context.WithTimeout(ctx, p.options.DrainTimeout)
		defer release()
		defer context.AfterFunc(limited, p.stop)() // Drain may take long to list what is left
		ctx = limited
	}
	var dropped []T
	defer func() {
		p.stop() // what a worker still has, it has beyond the drain
		p.inGoroutine(func() { p.reportDropped(dropped) })
	}()
	returned := false
	p.inGoroutine(func() {
		dropped, err = p.options.Drain(ctx)
		returned = true
	})
	if !returned { // a hook panicked or ended its goroutine
		p.inGoroutine(func() { dropped, _ = p.options.Drain(endedContext) })
	}
	return err
}

var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// inGoroutine runs do, which calls hooks, in a goroutine of its own. So a panic
// or a Goexit ends neither a worker nor Run.
func (p *Pool[T]) inGoroutine(do func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer p.catch()
		do()
	}()
	<-over
}

// catch must be deferred around user code whose panic is no handler's failure.
func (p *Pool[T]) catch() {
	if r := recover(); r != nil {
		p.fail(panicError(r))
	}
}

func (p *Pool[T]) end() {
	p.stop()
	p.close()
	<-p.left
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = ended
}

func (p *Pool[T]) passFaultOn() {
	p.mu.Lock()
	fault := p.fault
	p.mu.Unlock()
	if fault != nil {
		panic(fault)
	}
}

func (p *Pool[T]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == running {
		p.state = closing
		p.reportLeftLocked()
	}
}

// hasLeft is the last call of each worker. ShutDown reports that the source is
// shut down and has nothing ready.
func (p *Pool[T]) hasLeft(one *worker[T], shutDown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present--
	p.staying = slices.DeleteFunc(p.staying, func(other *worker[T]) bool { return other == one })
	if shutDown && p.state == running {
		p.state = closing // another worker would find the same
	}
	p.reportLeftLocked()
}

// reportLeftLocked closes left once all workers have left. It must be called
// whenever that may have happened. Afterwards no worker can start.
func (p *Pool[T]) reportLeftLocked() {
	if p.state == closing && p.present == 0 {
		close(p.left)
	}
}

func (p *Pool[T]) fail(fault *PanicError) {
	p.mu.Lock()
	if p.fault == nil {
		p.fault = fault
	}
	p.mu.Unlock()
	p.stop()
}

func (p *Pool[T]) sourceFailed(err error) {
	p.mu.Lock()
	if p.broken == nil {
		p.broken = err
	}
	p.mu.Unlock()
	p.stop()
}

// Len returns the number of workers that have started and not left, including
// those that finish an item before they leave.
func (p *Pool[T]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.present
}

// Resize changes the number of workers to n. It starts workers, or asks some to
// leave, and does not wait for them. A worker that waits for an item leaves at
// once, any other one when its item is settled. With 0, Run goes on without
// workers until a later Resize. After a shutdown has begun, Resize asks no
// worker to leave, because an item that becomes ready at the end of the last
// claim needs one.
//
// A negative n panics.
func (p *Pool[T]) Resize(n int) {
	if n < 0 {
		panic(fmt.Sprintf("worker: Pool.Resize was called with %d: want 0 or more", n))
	}
	for _, leaving := range p.resize(n) {
		leaving.leave() // ends a context, which must not happen under a lock
	}
}

func (p *Pool[T]) resize(n int) (leaving []*worker[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = n
	if p.state != running {
		return nil
	}
	p.startLocked()
	if len(p.staying) > n {
		leaving = append(leaving, p.staying[n:]...)
		clear(p.staying[n:])
		p.staying = p.staying[:n]
	}
	return leaving
}

func (p *Pool[T]) startLocked() {
	for len(p.staying) < p.wanted {
		p.started++
		one := newWorker(p)
		p.staying = append(p.staying, one)
		p.present++
		go one.live()
	}
}
