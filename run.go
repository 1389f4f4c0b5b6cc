package shardq

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Run processes the queue's items in that many workers. It blocks until ctx
// ends, or the queue is shut down and nothing is ready, and then until the
// workers have finished. The error of handle says what happens to its item:
//
//   - nil: it succeeded, and the limiter forgets its failures;
//   - [worker.RequeueAfter]: it did not fail, and is added again after a delay;
//   - [worker.Permanent]: it failed, and is discarded;
//   - any other error, or a panic: it failed, and is added again after the
//     limiter's backoff.
//
// The context of handle ends with ctx. What is queued then stays queued. The
// error of Run lists the items that a shutdown leaves over: see
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
// The texts of errors are those of the handlers, and may have secrets.
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
