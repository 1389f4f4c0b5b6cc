package shardq

import (
	"context"
	"time"

	"github.com/shardq/shardq/shard"
)

// A queueSource has Workers take from a [Queue].
type queueSource[T comparable] struct{ queue *Queue[T] }

func (s queueSource[T]) name() string             { return s.queue.name }
func (s queueSource[T]) done(item T, from origin) { s.queue.shards.DoneAt(item, from.at) }
func (s queueSource[T]) doneBatch(items []T, from origins) {
	s.queue.shards.DoneBatchAt(items, from.at)
}
func (s queueSource[T]) takesBack(T) bool             { return s.queue.shards.TakesBack() }
func (s queueSource[T]) backOff(item T) time.Duration { return s.queue.backOff(item) }
func (s queueSource[T]) failures(item T) int          { return s.queue.limiter.NumRequeues(item) }
func (s queueSource[T]) forget(item T)                { s.queue.limiter.Forget(item) }
func (s queueSource[T]) log() *logbook                { return s.queue.log }
func (s queueSource[T]) key(item T) any               { return item }
func (s queueSource[T]) gaveUp()                      { s.queue.shards.GiveUp() }
func (s queueSource[T]) newDesk() workerDesk[T]       { return s.queue.workforce.newDesk() }
func (s queueSource[T]) showing() bool                { return s.queue.configuration.Metrics }
func (s queueSource[T]) shuttingDown() bool           { return s.queue.ShuttingDown() }

func (s queueSource[T]) succeeded(item T, from origin) {
	defer s.queue.shards.DoneAt(item, from.at)
	s.queue.limiter.Forget(item)
}

func (s queueSource[T]) take(ctx context.Context) (item T, from origin, err error) {
	item, from.priority, from.at, err = s.queue.shards.Take(ctx)
	return item, from, err
}

func (s queueSource[T]) takeBatch(ctx context.Context, items []T, from origins) (n int, err error) {
	return s.queue.shards.TakeBatch(ctx, items, from.priorities, from.at)
}

// giveBack adds an item again. If user code panics, the item is in.
func (s queueSource[T]) giveBack(item T, from origin, delay time.Duration, refused func()) {
	d := shard.Delay{Duration: delay, Priority: from.priority, Retry: true}
	switch s.queue.shards.GiveBack(from.at, d) {
	case shard.Refused:
		refused()
	case shard.TooLate: // a stray Done has ended the processing
		if !s.queue.shards.TakesBack() {
			refused()
			return
		}
		s.queue.shards.AddWith(item, d)
	}
}

func (s queueSource[T]) drain(ctx context.Context, options DrainOptions, dropped *[]T) (cause error) {
	return s.queue.shards.DrainUntil(ctx, options.draining(), s.queue.shards.Released(), dropped)
}

func (s queueSource[T]) drained(ctx context.Context, cause error) error {
	if cause == nil {
		s.queue.logEnd()
		return nil
	}
	return s.queue.gaveUp(ctx, cause)
}
