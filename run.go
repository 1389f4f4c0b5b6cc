package shardq

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/internal/attempts"
	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/internal/recent"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Run processes the queue's items in the given number of workers. It blocks
// until ctx ends, or the queue is shut down and nothing is ready, and then
// until the workers have finished. The error of handle says what happens to its
// item:
//
//   - nil: it succeeded, and the limiter forgets its failures;
//   - [worker.RequeueAfter]: it did not fail, and is added again after a delay;
//   - [worker.Permanent]: it failed, and is discarded;
//   - any other error, or a panic: it failed, and is added again after the
//     limiter's backoff.
//
// The context of handle ends with ctx. The rest of the queue stays queued, and a
// process that exits loses it: Drain it, or read its items again at the next
// start. The error of Run lists the items that a shutdown leaves over: see
// [worker.LeftoverError].
//
// The middleware wraps handle, the first outermost. [worker.Options] has more:
// reports of failures, a limit of attempts, timeouts, batches and drains.
func (q *Queue[T]) Run(ctx context.Context, workers int, handle worker.Handler[T], use ...worker.Middleware[T]) error {
	_ = q.made()
	pool, err := worker.New(q, worker.Options[T]{Workers: workers, Handle: handle, Use: use})
	if err != nil {
		return err
	}
	return pool.Run(ctx)
}

// slots are the open slots of a queue.
type slots struct {
	mu     sync.Mutex
	all    []*openSlot
	opened int // ever
}

// An openSlot has the number of the worker that has it.
type openSlot struct {
	number int
	slot   interface {
		addTo(numbers map[any]int, number int)
	}
}

// A slot shows the items that a worker has.
type slot[T comparable] struct {
	mu    sync.Mutex // a leaf: only Snapshot contends for it
	items []T
}

func (s *slots) add(slot interface{ addTo(map[any]int, int) }) (number int, closeSlot func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	one := &openSlot{s.opened, slot}
	s.all = append(s.all, one)
	return one.number, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = slices.DeleteFunc(s.all, func(other *openSlot) bool { return other == one })
	}
}

func (s *slots) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// workers returns the numbers of the workers that process items.
func (s *slots) workers() map[any]int {
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	numbers := make(map[any]int)
	for _, one := range all {
		one.slot.addTo(numbers, one.number)
	}
	return numbers
}

func (s *slot[T]) show(items []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
	s.items = append(s.items[:0], items...)
}

func (s *slot[T]) addTo(numbers map[any]int, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.items {
		numbers[item] = number
	}
}

func (o *queueClaims[T]) CountsAttempts() bool { return o.base.outcomes.attempts != nil }

// ReportAttempt must be called only if CountsAttempts returns true.
func (o *queueClaims[T]) ReportAttempt(r worker.Report[T]) {
	o.base.outcomes.attempts.Record(r.Worker, r.Result, r.Duration)
	if o.group != nil {
		o.base.outcomes.attempts.RecordGroup(groupOf(o.queue(), r.Item), r.Result)
	}
}

// groupOf returns the group of an item, or "". A Group that panics, which it did
// not do when the item was added, must not end the worker.
func groupOf[T comparable](q *Queue[T], item T) (group string) {
	if q.group == nil {
		return ""
	}
	defer func() { _ = recover() }()
	return q.group(item)
}

// now reads the clock. It returns the real time if the clock panics, because
// that must not end a worker.
func (b *base) now() (now time.Time) {
	defer func() {
		if recover() != nil {
			now = time.Now()
		}
	}()
	return b.clock.Now()
}

// RecentFailures returns the last failures of the workers of a [worker.Pool], at
// most limit of each kind, the newest first. Failed are attempts after which the
// item runs again. Discarded are the dead letters. The queue keeps 64 of each.
// The texts of errors are those of the handlers, and may contain secrets.
func (q *Queue[T]) RecentFailures(limit int) (failed, discarded []stats.Failure[T]) {
	some, none := q.made().outcomes.recent(limit)
	all := typedFailures[T](append(some, none...)) // one call, because each is inlined
	return all[:len(some):len(some)], all[len(some):]
}

func typedFailures[T comparable](rows []stats.Failure[any]) []stats.Failure[T] {
	typed := make([]stats.Failure[T], len(rows))
	for i, f := range rows {
		typed[i] = stats.Failure[T]{
			Item: itemOf[T](f.Item), Group: f.Group, Attempt: f.Attempt, Time: f.Time,
			Error: f.Error, Panicked: f.Panicked, Discarded: f.Discarded, Reason: f.Reason,
		}
	}
	return typed
}

// outcomes are what a queue knows of the attempts of workers.
type outcomes struct {
	attempts *attempts.Recorder // nil without metrics
	log      *eventLog          // or nil
	groupOf  func(item any) string
	// They allocate nothing before the first.
	failures, discards recent.Ring[stats.Failure[any]]
	outage             outage
	failing            atomic.Bool // an attempt has failed since the last success
}

const failuresKept = 64 // and as many discards

// A failure is a worker.Failure, with its item as an any.
type failure struct {
	item     any
	attempt  int
	final    bool
	reason   worker.Reason
	err      error
	panicked *worker.PanicError
	now      time.Time
}

// failed counts, logs and keeps a failure. A final one is kept by discarded.
func (o *outcomes) failed(ctx context.Context, f failure) {
	var step outageStep
	if f.reason != worker.ReasonPermanent { // which is about its item
		step = o.outage.fail(f.now)
	}
	text := f.text()
	if o.log != nil {
		defer o.log.failure(ctx, f.item, f.attempt, f.final, text, f.panicked, step)
	}
	if !f.final {
		recent.Add(&o.failures, o.kept(f, text), failuresKept)
	}
}

func (o *outcomes) discarded(ctx context.Context, f failure) {
	text := f.text()
	if o.log != nil {
		defer o.log.discarded(ctx, f.item, f.attempt, f.reason, text, f.panicked)
	}
	kept := o.kept(f, text)
	kept.Reason = f.reason.String()
	recent.Add(&o.discards, kept, failuresKept)
}

func (o *outcomes) succeeded(ctx context.Context, now time.Time) {
	was, failures, lasted := o.outage.succeed(now)
	if was && o.log != nil {
		o.log.outageOver(ctx, failures, lasted)
	}
}

func (o *outcomes) recent(limit int) (failures, discards []stats.Failure[any]) {
	return recent.Last(&o.failures, limit), recent.Last(&o.discards, limit)
}

// kept calls the group function, and text the error's, so no lock may be held.
func (o *outcomes) kept(f failure, text string) stats.Failure[any] {
	return stats.Failure[any]{
		Item: f.item, Group: o.groupOf(f.item), Attempt: f.attempt, Time: f.now,
		Error: text, Panicked: f.panicked != nil, Discarded: f.final,
	}
}

func (f *failure) text() string {
	if f.panicked != nil {
		return keytext.OfError(f.panicked.Value) // without its stack
	}
	return keytext.OfError(f.err)
}
