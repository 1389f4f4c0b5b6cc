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
	q.mustBeMade()
	pool, err := worker.New(q, worker.Options[T]{Workers: workers, Handle: handle, Use: use})
	if err != nil {
		return err
	}
	return pool.Run(ctx)
}

// slots are the open slots of a queue.
type slots[T comparable] struct {
	mu     sync.Mutex
	all    []*slot[T]
	opened int // ever
}

// A slot shows the items that a worker has.
type slot[T comparable] struct {
	slots  *slots[T]
	number int
	mu     sync.Mutex // a leaf: only Snapshot contends for it
	items  []T
}

func (s *slots[T]) add() *slot[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	one := &slot[T]{slots: s, number: s.opened}
	s.all = append(s.all, one)
	return one
}

func (s *slot[T]) close() {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.slots.all = slices.DeleteFunc(s.slots.all, func(other *slot[T]) bool { return other == s })
}

func (s *slots[T]) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *slot[T]) show(items []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
	s.items = append(s.items[:0], items...)
}

func (s *slot[T]) addTo(numbers map[any]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.items {
		numbers[item] = s.number
	}
}

// workers returns the numbers of the workers that process items.
func (s *slots[T]) workers() map[any]int {
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	numbers := make(map[any]int)
	for _, one := range all {
		one.addTo(numbers)
	}
	return numbers
}

func (o *queueClaims[T]) CountsAttempts() bool { return o.outcomes.attempts != nil }

// ReportAttempt must be called only if CountsAttempts returns true.
func (o *queueClaims[T]) ReportAttempt(r worker.Report[T]) {
	o.outcomes.attempts.Record(r.Worker, r.Result, r.Duration)
	if o.group != nil {
		o.outcomes.attempts.RecordGroup(o.queue().groupOf(r.Item), r.Result)
	}
}

// groupOf returns the group of an item, or "". A Group that panics, which it did
// not do when the item was added, must not end the worker.
func (q *Queue[T]) groupOf(item T) (group string) {
	if q.group == nil {
		return ""
	}
	defer func() { _ = recover() }()
	return q.group(item)
}

// now reads the clock. It returns the real time if the clock panics, because
// that must not end a worker.
func (q *Queue[T]) now() (now time.Time) {
	defer func() {
		if recover() != nil {
			now = time.Now()
		}
	}()
	return q.clock.Now()
}

// RecentFailures returns the last failures of the workers of a [worker.Pool], at
// most limit of each kind, the newest first. Failed are attempts after which the
// item runs again. Discarded are the dead letters. The queue keeps 64 of each.
// The texts of errors are those of the handlers, and may have secrets.
func (q *Queue[T]) RecentFailures(limit int) (failed, discarded []stats.Failure[T]) {
	q.mustBeMade()
	some, none := q.outcomes.recent(limit)
	return typedFailures[T](some), typedFailures[T](none)
}

func typedFailures[T comparable](rows []stats.Failure[any]) []stats.Failure[T] {
	typed := make([]stats.Failure[T], len(rows))
	for i, f := range rows {
		item, _ := f.Item.(T)
		typed[i] = stats.Failure[T]{
			Item: item, Group: f.Group, Attempt: f.Attempt, Time: f.Time,
			Error: f.Error, Panicked: f.Panicked, Discarded: f.Discarded, Reason: f.Reason,
		}
	}
	return typed
}
