package worker

import "context"

// A Pool is a number of workers that process the items of a [Source]. It is
// made by [New], and runs once, by [Pool.Run]. All methods are safe for
// concurrent use. The handler and the hooks may call all of them but Run.
type Pool[T any] struct {
	crew    crew
	source  Source[T]
	next    func(claim *Claim[T]) (more bool, err error) // see worker.done, or nil
	handle  Handler[T]
	batches func(ctx context.Context, items []T) []error
	weigh   func(item T) int // or nil
	drainBy func(ctx context.Context) (dropped []T, err error)
	hooks   [hooks]func(context.Context, Failure[T])
	plain   bool         // limits.plain
	dropped []T          // by Drain
	kept    []Failure[T] // for the error of Run; under the lock of the crew
}

// The indexes of the hooks of [Options], and of one that keeps a Failure for Run's
// error. Hooks is their number.
const onError, onDiscard, onLeftover, keeps, hooks = 0, 1, 2, 3, 4

// New returns a pool for source, or an error that lists every fault of the
// options. It starts nothing.
func New[T any](source Source[T], options Options[T]) (*Pool[T], error) {
	p := &Pool[T]{source: source, batches: options.HandleBatch, weigh: options.Weigh, drainBy: options.Drain}
	keep := func(_ context.Context, f Failure[T]) {
		p.crew.mu.Lock()
		defer p.crew.mu.Unlock()
		p.kept = append(p.kept, f)
	}
	p.hooks = [hooks]func(context.Context, Failure[T]){options.OnError, options.OnDiscard, options.OnLeftover, keep}
	if options.OnLeftover == nil {
		p.hooks[onLeftover] = keep
	}
	handle, inUse := wrap(options.Handle, options.Use)
	p.handle = handle
	if err := p.crew.prepare(p, source, limitsOf(&options), givenOf(&options), inUse); err != nil {
		return nil, err
	}
	if n, is := part[nextSource[T]](source); is {
		p.next = n.NextOf(source)
	}
	p.plain, p.crew.oneByOne = p.crew.limits.plain(), p.weigh != nil && p.next != nil
	return p, nil
}

// Run starts the workers and blocks until all of them have left. It can be
// called once.
//
// When ctx ends, the handlers' contexts end, workers finish the items that they
// have and leave, and Run returns nil. With [Options].Drain, the workers go on
// while Drain runs, and Run passes the items that Drain dropped to OnLeftover.
// If Drain ends early, the handlers' contexts end, and Run returns Drain's
// error, which lists the items left.
//
// If something else shuts the source down, workers leave when nothing is ready,
// and Run returns nil, or a [LeftoverError] if items are left over and OnLeftover
// is nil. If the source had ended before the call, with nothing left, Run returns
// [ErrShutDown]. After an error of the source, all workers leave, and Run returns
// the error. A panic of a hook, or of code that the source calls, is no failure
// of the item: all workers leave, and Run panics with a [*PanicError].
func (p *Pool[T]) Run(ctx context.Context) (err error) { return p.crew.run(ctx) }

// Len returns the number of workers that have started and not left. Those that
// a Resize has asked to leave count until they have left: see [Pool.ResizeBy].
func (p *Pool[T]) Len() int { return p.crew.len() }

// Resize changes the number of workers to n, and does not wait for them. A worker
// that waits for an item leaves at once, any other one when its item is settled.
// With 0, Run goes on without workers until a later Resize. After a shutdown has
// begun, no worker leaves because of Resize. A negative n panics.
func (p *Pool[T]) Resize(n int) { p.crew.resizeTo(n) }

// ResizeBy is [Pool.Resize] relative to the number of workers that were asked
// for last, but not below 0. It returns the new number, and is safe where other
// goroutines resize: ResizeBy(0) only reads.
func (p *Pool[T]) ResizeBy(delta int) (wanted int) { return p.crew.resizeBy(delta) }

func (p *Pool[T]) newWorker() *seat {
	w := &worker[T]{pool: p}
	w.seat.worker, w.claims = w, w.claim[:]
	if p.crew.limits.AbandonAfter > 0 {
		w.show = w.showAndNote
	}
	return &w.seat
}

func (p *Pool[T]) drain(ctx context.Context) (dropped int, err error) {
	p.dropped, err = p.drainBy(ctx)
	return len(p.dropped), err
}

func (p *Pool[T]) reportDropped(i int) {
	item, f := p.dropped[i], failure{queue: p.crew.name, err: errDropped, final: true, reason: ReasonShutDown}
	history, has := p.source.(historySource[T])
	held := false // the failures are those of a run to come
	defer func() {
		if has && !held {
			history.Forget(item)
		}
	}()
	defer call(p, onLeftover, item, &f) // also if the limiter panics
	if holder, is := part[holdingSource[T]](p.source); is {
		held = true // also if Hash panics
		held = holder.Holds(item)
	}
	if has {
		f.attempt = history.NumRequeues(item)
	}
}

func call[T any](p *Pool[T], which int, item T, f *failure) {
	if hook := p.hooks[which]; hook != nil {
		hook(p.crew.hooks, failureOf(item, f))
	}
}

func (p *Pool[T]) leftoverLocked() error {
	left := p.kept
	p.kept, p.dropped = nil, nil
	if len(left) == 0 {
		return nil
	}
	return &LeftoverError[T]{p.crew.name, left}
}
