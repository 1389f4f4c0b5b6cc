package worker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Pool is a number of workers that process the items of a [Source]. It is
// made by [New], and runs once, by [Pool.Run]. All methods are safe for
// concurrent use. The handler and the hooks may call all of them but Run.
type Pool[T any] struct {
	source       Source[T]
	next         func(claim *Claim[T]) (more bool, err error) // see worker.done, or nil
	name         string
	options      Options[T]
	plain, timed bool        // what the options say of each attempt
	over         *timeIsOver // the cause of the end of a context by Options.Timeout

	mu      sync.Mutex
	state   poolState    // only ever grows
	wanted  int          // the number of workers asked for
	staying []*worker[T] // workers that were not asked to leave
	started int          // the number of workers that were ever started
	present int          // workers that have not left
	fault   *PanicError  // what Run panics with
	broken  error        // the source's error, which Run returns
	// With AbandonAfter, handling says since when which handlers run, and overdue
	// that Run waits for them no longer.
	handling  map[*worker[T]]time.Time
	overdue   bool
	leftover  []Failure[T]   // for the error of Run
	abandoned []abandoned[T] // likewise

	failing atomic.Bool // an attempt has failed since the last success

	// Set when Run begins.
	context context.Context // the handlers' context: its end is the end for all
	hooks   context.Context // of the hooks: it has the values of context, and does not end
	stop    context.CancelFunc
	left    chan struct{}   // closed when no worker is left for which Run waits
	lingers context.Context // with Options.Linger: ends when no worker may linger any more
	hurry   context.CancelFunc
}

type poolState int

const (
	notRun  poolState = iota // Run was not called
	running                  // workers are started as they are wanted
	closing                  // no more workers are started
	ended                    // Run has returned, or is about to
)

// New returns a pool for source, or an error that lists every fault of the
// options. It starts nothing.
func New[T any](source Source[T], options Options[T]) (*Pool[T], error) {
	name, fault := nameOfSource(source)
	handle, faultOfUse := wrap(options.Handle, options.Use)
	faults := validate(options.limits(), options.given())
	if err := errors.Join(faults, faultOfUse, fault); err != nil {
		return nil, err
	}
	options.Handle = handle
	if waits, is := part[waitSource](source); is && options.showsAttempts() {
		waits.KeepWaits()
	}
	var next func(*Claim[T]) (bool, error)
	if n, is := part[nextSource[T]](source); is {
		next = n.NextOf(source)
	}
	return &Pool[T]{
		source: source, next: next, name: name, options: options, wanted: options.Workers, left: make(chan struct{}),
		handling: map[*worker[T]]time.Time{},
		over:     &timeIsOver{context.DeadlineExceeded},
		plain:    options.Timeout == 0 && !options.showsAttempts() && !options.watches(),
		timed:    options.OnError != nil || options.OnDiscard != nil || options.OnLeftover != nil,
	}, nil
}

// nameOfSource also returns an error for a nil pointer, and for a struct that
// embeds a nil queue, whose Name panics.
func nameOfSource(source any) (name string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("worker: New was called with a source whose Name panics: %v", r)
		}
	}()
	if v := reflect.ValueOf(source); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", errors.New("worker: New was called without a source")
	}
	return nameOf(source, ""), nil
}

// Run starts the workers and blocks until all of them have left. It can be
// called once.
//
// When ctx ends, the handlers' contexts end, workers finish the items that they
// have and leave, and Run returns nil. With [Options].Drain, the workers go on
// while Drain runs, and Run passes the items that it dropped to OnLeftover. If
// that ends early, the handlers' contexts end, and Run returns Drain's error,
// which lists what is left.
//
// If something else shuts the source down, workers leave when nothing is ready,
// and Run returns nil. What is left over without OnLeftover is in the error, as
// a [LeftoverError]. After an error of the source, all leave, and Run returns
// it. A panic of a hook, or of code that the source calls, is no failure of the
// item: all workers leave, and Run panics with a [*PanicError].
func (p *Pool[T]) Run(ctx context.Context) (err error) {
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer func() {
		p.end()
		if older, is := err.(interface{ Refresh() error }); is { // workers went on after a drain that timed out
			p.inGoroutine(func() { err = older.Refresh() })
		}
		if fault := p.conclude(&err); fault != nil {
			panic(fault)
		}
	}()
	if source, is := part[lingerSource](p.source); is && p.hurry != nil {
		defer context.AfterFunc(source.Ending(), p.hurry)()
	}
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

// conclude adds to the error of the drain what else Run returns, or panics with.
func (p *Pool[T]) conclude(err *error) (fault *PanicError) {
	abandoned := p.abandonedItems()
	p.mu.Lock() // abandoned workers go on
	defer p.mu.Unlock()
	if p.broken != nil {
		*err = errors.Join(p.broken, *err)
	}
	if left := slices.Concat(p.leftover, abandoned); len(left) > 0 {
		*err = errors.Join(*err, &LeftoverError[T]{p.name, left})
	}
	if p.fault != nil {
		p.fault.Run = *err
	}
	return p.fault
}

func (p *Pool[T]) begin(ctx context.Context) error {
	inner := ctx
	if p.options.Drain != nil {
		inner = context.WithoutCancel(ctx) // a drain goes on after the end of ctx
	}
	if p.options.Labels {
		inner = pprof.WithLabels(inner, pprof.Labels("queue", p.name))
	}
	if marks, is := part[contextSource](p.source); is {
		inner = marks.HandlerContext(inner)
	}
	inner, stop := context.WithCancel(inner)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != notRun {
		stop()
		if p.state == ended {
			return errors.New("worker: Pool.Run has ended and cannot be called again: make another Pool with New")
		}
		return errors.New("worker: Pool.Run was called while it runs")
	}
	p.context, p.hooks, p.stop, p.state = inner, context.WithoutCancel(inner), stop, running
	if p.options.Linger > 0 {
		p.lingers, p.hurry = context.WithCancel(inner)
	}
	p.startLocked()
	return nil
}

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

// inGoroutine runs do, which calls hooks, so that a panic or a Goexit ends neither
// a worker nor Run.
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
		p.fail(panicError(r), nil)
	}
}

func (p *Pool[T]) end() {
	p.stop()
	p.mu.Lock()
	if p.state == running {
		p.state = closing
		p.reportLeftLocked()
	}
	p.mu.Unlock()
	if p.options.AbandonAfter > 0 {
		defer time.AfterFunc(p.options.AbandonAfter, p.abandon).Stop()
	}
	<-p.left
}

// hasLeft is the last call of each worker. ShutDown: the source has nothing more.
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

// reportLeftLocked must be called whenever all workers may have left, or be in
// handlers that Run abandons. Once it has closed left, no worker can start.
func (p *Pool[T]) reportLeftLocked() {
	busy := 0
	if p.overdue {
		busy = len(p.handling)
	}
	if p.state != closing || p.present > busy {
		return
	}
	if p.state = ended; busy > 0 {
		p.abandonLocked()
	}
	close(p.left)
}

// fail makes all workers leave. The first fault and the first error count.
func (p *Pool[T]) fail(fault *PanicError, broken error) {
	p.mu.Lock()
	if p.fault == nil {
		p.fault = fault
	}
	if p.broken == nil {
		p.broken = broken
	}
	p.mu.Unlock()
	p.stop()
}

// Len returns the number of workers that have started and not left. Those that
// a Resize has asked to leave count until they have: see [Pool.ResizeBy].
func (p *Pool[T]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.present
}

// Resize changes the number of workers to n, and does not wait for them. A worker
// that waits for an item leaves at once, any other one when its item is settled.
// With 0, Run goes on without workers until a later Resize. After a shutdown has
// begun, no worker leaves because of Resize. A negative n panics.
func (p *Pool[T]) Resize(n int) {
	if n < 0 {
		panic(fmt.Sprintf("worker: Pool.Resize was called with %d: want 0 or more", n))
	}
	p.resize(func(int) int { return n })
}

// ResizeBy is [Pool.Resize] relative to the number of workers that were asked
// for last, but not below 0. It returns the new number, and is safe where other
// goroutines resize: ResizeBy(0) only reads.
func (p *Pool[T]) ResizeBy(delta int) (wanted int) {
	return p.resize(func(wanted int) int { return max(0, wanted+delta) })
}

func (p *Pool[T]) resize(to func(wanted int) int) (wanted int) {
	wanted, leaving := p.want(to)
	for _, one := range leaving {
		one.leave() // ends a context, which must not happen under a lock
	}
	return wanted
}

func (p *Pool[T]) want(to func(wanted int) int) (n int, leaving []*worker[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = to(p.wanted)
	p.wanted = n
	if p.state != running {
		return n, nil
	}
	p.startLocked()
	if len(p.staying) > n {
		leaving = append(leaving, p.staying[n:]...)
		clear(p.staying[n:])
		p.staying = p.staying[:n]
	}
	return n, leaving
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
