package shardq

import "github.com/shardq/shardq/worker"

// Load returns what the queue has to do, for a [worker.Autoscaler]. It leaves
// out what more workers could not serve: the items of throttled groups, and all
// ready items while the queue is paused or its rate is reached. It costs at
// most as much as [Queue.Stats]. Oldest is known with [Options].Ages.
func (q *Queue[T]) Load() worker.Load {
	b := q.shards.Backlog()
	return worker.Load{Ready: b.Ready, Processing: b.Processing, Oldest: b.Oldest, Ages: q.configuration.Ages}
}
