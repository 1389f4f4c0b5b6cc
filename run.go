package shardq

import (
	"context"
	"slices"
	"sync"

	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Run processes the queue's items in that many workers. It blocks until ctx
// ends, or until the queue is shut down and nothing is ready except what is
// paused, and then until all workers have finished their items.
//
// One worker at a time calls handle for any one item. The error of handle says
// what happens to the item:
//
//   - nil: it succeeded, and the limiter forgets its failures;
//   - [worker.RequeueAfter]: it did not fail, and is added again after a delay;
//   - [worker.Permanent]: it failed, and is discarded;
//   - any other error, a panic, or a runtime.Goexit: it failed, and is added
//     again after the limiter's backoff, as by [Queue.AddRateLimited].
//
// An item that is added again keeps its priority. When ctx ends, so does the
// context that handle gets. What is queued stays queued.
//
// The middleware wraps handle. The first is the outermost. Run returns an error
// at once if workers is less than 1, or handle or a middleware is nil. It is
// [worker.New] with Workers, Handle and Use alone: [worker.Options] has reports
// of failures, a limit of attempts, timeouts, batches and drains.
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
	mu  sync.Mutex
	all []*slot[T]
	// opened is the number of slots that were ever opened.
	opened int
}

// A slot shows the items that a worker has.
type slot[T comparable] struct {
	slots  *slots[T]
	number int
	mu     sync.Mutex // a leaf: only Snapshot contends for it
	items  []T
}

// add opens a slot.
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

// open returns the number of open slots.
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

func (s *slot[T]) shown() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}

// label writes the workers' numbers into the rows of their items.
func (s *slots[T]) label(rows []stats.Item[T]) {
	if len(rows) == 0 {
		return
	}
	numbers := s.workers()
	for i := range rows {
		rows[i].Worker = numbers[rows[i].Item]
	}
}

// workers returns the numbers of the workers that process items.
func (s *slots[T]) workers() map[T]int {
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	numbers := make(map[T]int)
	for _, one := range all {
		for _, item := range one.shown() {
			numbers[item] = one.number
		}
	}
	return numbers
}
