package shardq

import "github.com/shardq/shardq/worker"

// Load returns what the queue has to do, for a [worker.Autoscaler]. It costs
// as much as [Queue.Stats]. Oldest is known with [Options].Ages.
func (q *Queue[T]) Load() worker.Load {
	st := q.shards.Stats()
	load := worker.Load{Ready: st.Ready, Processing: st.Processing, Ages: q.configuration.Ages}
	for i := range st.PerShard {
		load.Oldest = max(load.Oldest, st.PerShard[i].OldestReady)
	}
	return load
}
