package shardq

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/shardq/shardq/shard"
)

// A queueSource has Workers take from a [Queue].
type queueSource[T comparable] struct {
	queue *Queue[T]

	mu        sync.Mutex
	uncertain []T // see giveBack
}

func (s *queueSource[T]) name() string                 { return s.queue.name }
func (s *queueSource[T]) done(item T)                  { s.queue.Done(item) }
func (s *queueSource[T]) doneBatch(items []T)          { s.queue.DoneBatch(items) }
func (s *queueSource[T]) backOff(item T) time.Duration { return s.queue.backOff(item) }
func (s *queueSource[T]) failures(item T) int          { return s.queue.limiter.NumRequeues(item) }
func (s *queueSource[T]) forget(item T)                { s.queue.limiter.Forget(item) }
func (s *queueSource[T]) log() *logbook                { return s.queue.log }
func (s *queueSource[T]) key(item T) any               { return item }
func (s *queueSource[T]) gaveUp()                      { s.queue.shards.GiveUp() }
func (s *queueSource[T]) newDesk() workerDesk[T]       { return s.queue.workforce.newDesk() }
func (s *queueSource[T]) showing() bool                { return s.queue.configuration.Metrics }
func (s *queueSource[T]) shuttingDown() bool           { return s.queue.ShuttingDown() }

func (s *queueSource[T]) succeeded(item T) {
	defer s.queue.shards.Done(item)
	s.queue.limiter.Forget(item)
}

func (s *queueSource[T]) take(ctx context.Context) (item T, priority int, err error) {
	item, priority, _, err = s.queue.shards.GetContextAt(ctx)
	return item, priority, err
}

func (s *queueSource[T]) takeBatch(ctx context.Context, items []T, priorities []int) (n int, err error) {
	return s.queue.shards.GetBatchAt(ctx, items, priorities, nil)
}

// giveBack adds an item again. No shutdown that began meanwhile can drop it unseen: if there
// is none before and none after, the add was not dropped. If there is one after, it may have
// been, or taken in and then dropped, as one that waits.
func (s *queueSource[T]) giveBack(item T, priority int, after func() time.Duration, refused func()) {
	if s.queue.ShuttingDown() {
		refused()
		return
	}
	s.addAgain(item, priority, after)
	if !s.queue.ShuttingDown() {
		return
	}
	s.mu.Lock()
	s.uncertain = append(s.uncertain, item)
	s.mu.Unlock()
	refused()
}

// addAgain adds an item. If the user's code that has a say in when it comes panics, the
// item comes at once: it must not be lost beside the panic.
func (s *queueSource[T]) addAgain(item T, priority int, after func() time.Duration) {
	added := false
	defer func() {
		if !added {
			s.queue.AddWith(item, AddOptions{Priority: priority})
		}
	}()
	s.queue.shards.AddWith(item, shard.Delay{Duration: after(), Priority: priority, Retry: true})
	added = true
}

// drain leaves out what was told of already when it was given back.
func (s *queueSource[T]) drain(ctx context.Context, options DrainOptions) (dropped []T, err error) {
	dropped, err = s.queue.Drain(ctx, options)
	told := map[T]bool{}
	s.mu.Lock()
	for _, item := range s.uncertain {
		told[item] = true
	}
	s.mu.Unlock()
	return slices.DeleteFunc(dropped, func(item T) bool { return told[item] }), err
}
