package shardq

import "iter"

// A QueueView is a queue to look at, and nothing else: for a monitor, or for the user of a
// [Coalescer], whose queue of keys is its own affair. It costs nothing and may be copied. All
// methods are those of the [Queue], safe for concurrent use, and work after a shutdown, too. It
// comes from [Queue.View] or [Coalescer.Queue]; the methods of the zero QueueView panic.
type QueueView[T comparable] struct{ queue *Queue[T] }

// View returns a view of the queue.
func (q *Queue[T]) View() QueueView[T] { return QueueView[T]{q} }

// Name is [Queue.Name].
func (v QueueView[T]) Name() string { return v.queue.Name() }

// Len is [Queue.Len].
func (v QueueView[T]) Len() int { return v.queue.Len() }

// Stats is [Queue.Stats].
func (v QueueView[T]) Stats() Stats { return v.queue.Stats() }

// Snapshot is [Queue.Snapshot].
func (v QueueView[T]) Snapshot(limit int) Snapshot[T] { return v.queue.Snapshot(limit) }

// All is [Queue.All].
func (v QueueView[T]) All(state ItemState) iter.Seq[ItemInfo[T]] { return v.queue.All(state) }

// TimeLeft is [Queue.TimeLeft].
func (v QueueView[T]) TimeLeft() Histogram { return v.queue.TimeLeft() }

// Groups is [Queue.Groups].
func (v QueueView[T]) Groups() iter.Seq[GroupInfo] { return v.queue.Groups() }

// NumRequeues is [Queue.NumRequeues].
func (v QueueView[T]) NumRequeues(item T) int { return v.queue.NumRequeues(item) }

// ShuttingDown is [Queue.ShuttingDown].
func (v QueueView[T]) ShuttingDown() bool { return v.queue.ShuttingDown() }

// Configuration is [Queue.Configuration].
func (v QueueView[T]) Configuration() Configuration { return v.queue.Configuration() }

// MostRetried is [Queue.MostRetried].
func (v QueueView[T]) MostRetried(limit int) []Retried[T] { return v.queue.MostRetried(limit) }

// Look is [Queue.Look].
func (v QueueView[T]) Look(limit int) Snapshot[any] { return v.queue.Look(limit) }

// LookAtRetries is [Queue.LookAtRetries].
func (v QueueView[T]) LookAtRetries(limit int) []Retried[any] { return v.queue.LookAtRetries(limit) }
