package shardq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Run works the queue off with so many goroutines, until ctx ends or the queue is shut
// down and nothing is ready, and then returns nil. It blocks until all of them have left.
//
// handle is called with each item, by one goroutine at a time for any one item. What it
// returns decides:
//
//   - nil: the item is through. Its history in the limiter is forgotten.
//   - [RequeueAfter]: the item is through for now, and is added again after a delay.
//   - [Permanent]: the item is given up.
//   - any other error, a panic, or a runtime.Goexit: the item comes again after the delay
//     that the queue's limiter has for it, as by [Queue.AddRateLimited].
//
// An item that comes again has the priority with which it came. In each case it is then
// Done. A panic or a Goexit of handle ends neither the
// program nor a worker. When ctx ends, so does the context that handle has; workers
// finish what they have in hand, and what is queued stays queued.
//
// It is [NewWorkers] with Workers and Handle alone: see [WorkerOptions] for reports of
// failures, a bound of attempts, timeouts, batches and drains, and [Workers.Run] for what
// Run does when the user's limiter or clock panics. An error says that
// workers is less than 1, or that handle is nil. It allocates nothing per item.
func (q *Queue[T]) Run(ctx context.Context, workers int, handle func(ctx context.Context, item T) error) error {
	w, err := NewWorkers(q, WorkerOptions[T]{Workers: workers, Handle: handle})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// Workers process the items of a queue, the values of a [Coalescer], or what another
// [Source] hands out. They are made by [NewWorkers], [NewCoalescerWorkers] or
// [NewSourceWorkers], and run once, by [Workers.Run]. A queue may have several Workers,
// beside others who call Get. All methods are safe for concurrent use, and
// may be called by the handler and the hooks, but for Run.
type Workers[T any] struct {
	source  Source[T]
	name    string
	options WorkerOptions[T]

	mu      sync.Mutex
	state   workersState
	wanted  int          // how many workers there are to be
	staying []*worker[T] // those who were not asked to leave
	hired   int          // how many there ever were
	present int          // all who have not left
	fault   *PanicError  // what Run is to panic with
	broken  error        // of the source, which Run is to return

	// Set when Run begins.
	context context.Context // the handlers' context; its end is the end for all
	stop    context.CancelFunc
	left    chan struct{} // closed when closing and all have left
}

type workersState int

const (
	notRun  workersState = iota
	running              // and whoever is wanted is hired
	closing              // nobody is hired any more
	ended
)

// NewWorkers returns workers for a queue, or an error that lists every fault of the
// options. It starts nothing.
func NewWorkers[T comparable](q *Queue[T], options WorkerOptions[T]) (*Workers[T], error) {
	var fault error
	if q == nil {
		fault = errors.New("shardq: NewWorkers was called without a queue")
	}
	return newWorkers(queueSource[T]{q}, options, fault)
}

// newWorkers returns workers, or an error that has the faults of the options, and the one that
// is given.
func newWorkers[T any](source Source[T], options WorkerOptions[T], fault error) (*Workers[T], error) {
	if _, can := source.(Drainer[T]); fault == nil && options.Drain != nil && !can {
		fault = errors.New("shardq: WorkerOptions.Drain is set: want a Source that is a Drainer")
	}
	if err := errors.Join(options.validate(), fault); err != nil {
		return nil, err
	}
	if options.Drain != nil {
		drain := *options.Drain // it may change before it is needed
		if drain.Retries == DefaultRetries {
			drain.Retries = TakeRetries
		}
		options.Drain = &drain
	}
	return &Workers[T]{
		source: source, name: nameOf(source, ""), options: options,
		wanted: options.Workers, left: make(chan struct{}),
	}, nil
}

// Run starts the workers and blocks until all of them have left. It can be called once:
// while it runs, and after it has ended, it returns an error at once.
//
// When ctx ends, and there is no WorkerOptions.Drain, the handlers' contexts end, too;
// workers finish what they have in hand and leave, and Run returns nil. The queue stays
// open, with what is in it: other Workers may go on with it.
//
// When ctx ends, and there is a WorkerOptions.Drain, the handlers' contexts live on, and
// the queue is drained, as by [Queue.Drain], while the workers go on. Items that this drops
// are told to OnGiveUp, one after the other, with an error that wraps [ErrShutDown], and
// forgotten by the limiter. What fails meanwhile comes again by the limiter, and the drain
// goes on, unless DrainOptions.Retries is RefuseRetries. If DrainTimeout is over before all
// is done, or somebody calls ShutDown, the handlers' contexts end, workers finish what they
// have in hand and leave, and Run returns a [*DrainError], also if nothing is left. Its
// Left has what was left when the last worker had left, and nothing that OnGiveUp was
// told of. With no workers, nobody drains: see [Workers.Resize].
//
// If the queue is shut down by somebody else, workers leave when nothing is ready, as
// [Queue.Get] says it, and Run returns nil when the last one has left. Without workers
// nobody sees it: Run goes on until ctx ends, or Resize brings a worker.
//
// An error of a [Source] that is neither ErrShutDown nor that of the context ends the
// handlers' contexts and all workers, and Run returns it. So does an error of the end of a
// claim, unless it wraps ErrClaimEnded. Of several errors Run returns the first.
//
// A handler that does not return when its context ends keeps Run from returning.
//
// A panic of a hook, or of what the queue was given (its limiter, clock or
// hooks), has nobody to be reported to: the item is settled as if the hook had returned,
// the handlers' contexts end, all workers leave as without a Drain, and Run panics with a
// [*PanicError] in its caller's goroutine. If it was the limiter or the clock that panicked
// when a delay was wanted, the item is added without one. Hash and Group are not called by
// workers. A runtime.Goexit in a hook is the same as its return.
func (w *Workers[T]) Run(ctx context.Context) (err error) {
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer func() {
		w.end()
		if err != nil {
			w.apart(func() { err = refreshed(err) }) // now, for workers go on after a drain that gave up
		}
		w.passFaultOn()
		if w.broken != nil {
			err = errors.Join(w.broken, err)
		}
	}()
	select {
	case <-w.left:
		return nil
	case <-w.context.Done(): // without a drain, or after a fault
		return nil
	case <-ctx.Done():
	}
	if w.options.Drain != nil {
		return w.drain()
	}
	return nil
}

// refreshed returns an error of a drain as it is now.
func refreshed(err error) error {
	if older, is := err.(interface{ Refresh() error }); is {
		return older.Refresh()
	}
	return err
}

// begin hires the first workers.
func (w *Workers[T]) begin(ctx context.Context) error {
	inner := ctx
	if w.options.Drain != nil {
		inner = context.WithoutCancel(ctx) // a drain goes on after the end of ctx
	}
	inner, stop := context.WithCancel(w.options.labeled(inner, w.name))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case notRun:
		w.context, w.stop, w.state = inner, stop, running
		w.hire()
		return nil
	case ended:
		stop()
		return errors.New("shardq: Workers.Run has ended, and cannot be called again: make others with NewWorkers")
	default:
		stop()
		return errors.New("shardq: Workers.Run was called while it runs")
	}
}

// drain drains the source while the workers go on. It returns its error if it gave up.
func (w *Workers[T]) drain() (err error) {
	ctx := w.context
	if w.options.DrainTimeout > 0 {
		limited, release := context.WithTimeout(ctx, w.options.DrainTimeout)
		defer release()
		defer context.AfterFunc(limited, w.stop)() // Drain may look at what is left for long
		ctx = limited
	}
	var dropped []T
	defer func() {
		w.stop() // whoever still has an item has it beyond the drain
		w.apart(func() { w.reportDropped(dropped) })
	}()
	returned := false
	w.apart(func() {
		dropped, err = w.drainSource(ctx)
		returned = true
	})
	if !returned { // it has a hook that panicked or ended its goroutine
		w.apart(func() { dropped, _ = w.drainSource(endedContext) })
	}
	return err
}

func (w *Workers[T]) drainSource(ctx context.Context) (dropped []T, err error) {
	return w.source.(Drainer[T]).Drain(ctx, *w.options.Drain)
}

// apart runs what calls hooks outside of a worker in a goroutine of its own, so that it ends that
// alone if it panics or ends its goroutine.
func (w *Workers[T]) apart(do func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer w.catch()
		do()
	}()
	<-over
}

// catch is to be deferred around user code that no handler is to blame for.
func (w *Workers[T]) catch() {
	if r := recover(); r != nil {
		w.fail(panicError(r))
	}
}

// end lets all workers leave, and waits for them.
func (w *Workers[T]) end() {
	w.stop()
	w.hireNobody()
	<-w.left
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = ended
}

// passFaultOn panics in the caller of Run with what user code has panicked with.
func (w *Workers[T]) passFaultOn() {
	w.mu.Lock()
	fault := w.fault
	w.mu.Unlock()
	if fault != nil {
		panic(fault)
	}
}

func (w *Workers[T]) hireNobody() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == running {
		w.state = closing
		w.noteWhetherAllHaveLeft()
	}
}

// hasLeft is called by each worker, last of all. Told says that the queue is shut down and
// has nothing ready.
func (w *Workers[T]) hasLeft(one *worker[T], told bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.present--
	w.staying = slices.DeleteFunc(w.staying, func(other *worker[T]) bool { return other == one })
	if told && w.state == running {
		w.state = closing // others would only be told the same
	}
	w.noteWhetherAllHaveLeft()
}

// noteWhetherAllHaveLeft is to be called under the lock, whenever that may have come about.
// Once it has, nobody can be there again.
func (w *Workers[T]) noteWhetherAllHaveLeft() {
	if w.state == closing && w.present == 0 {
		close(w.left)
	}
}

// fail ends everything on account of a panic that no handler is to blame for.
func (w *Workers[T]) fail(fault *PanicError) {
	w.mu.Lock()
	if w.fault == nil {
		w.fault = fault
	}
	w.mu.Unlock()
	w.stop()
}

// sourceFailed ends everything on account of an error of the source.
func (w *Workers[T]) sourceFailed(err error) {
	w.mu.Lock()
	if w.broken == nil {
		w.broken = err
	}
	w.mu.Unlock()
	w.stop()
}

// Len returns how many workers there are: those that Run has started and that have not
// left. It counts those who finish an item before they leave after a Resize. Before Run,
// and after its end, it is 0.
func (w *Workers[T]) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.present
}

// Resize changes the number of workers to n: it starts workers, or asks some to leave.
// Those who sleep leave at once, those who have an item in hand when it is settled; Resize
// does not wait for them. With 0, Run goes on without workers until a later Resize.
//
// Before Run it changes how many Run starts. Once workers leave because the queue is shut
// down, or Run has ended, it has no effect. Once a shutdown has begun, it ends no worker:
// others may have left already, and nobody would be there for an item that becomes ready
// at the Done of the last.
//
// A negative n panics.
func (w *Workers[T]) Resize(n int) {
	if n < 0 {
		panic(fmt.Sprintf("shardq: Workers.Resize was called with %d: want 0 or more", n))
	}
	for _, leaving := range w.resize(n) {
		leaving.leave() // ends a context, which is not to be done under a lock
	}
}

func (w *Workers[T]) resize(n int) (leaving []*worker[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = n
	if w.state != running {
		return nil
	}
	w.hire()
	if len(w.staying) > n {
		leaving = append(leaving, w.staying[n:]...)
		clear(w.staying[n:])
		w.staying = w.staying[:n]
	}
	return leaving
}

// hire starts workers until there are as many as wanted. The caller has the lock.
func (w *Workers[T]) hire() {
	for len(w.staying) < w.wanted {
		w.hired++
		one := newWorker(w)
		w.staying = append(w.staying, one)
		w.present++
		go one.live()
	}
}
