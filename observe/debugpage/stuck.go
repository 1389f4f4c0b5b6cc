package debugpage

import (
	"slices"
	"time"

	"github.com/shardq/shardq/stats"
)

// maxStuck limits the stuck items that are counted.
const maxStuck = 1000

// isStuck reports whether an item has been in flight for StuckAfter at a time
// of the queue's clock. It is not known without ages.
func isStuck(info stats.Item[any], after time.Duration, now time.Time) bool {
	return info.State == stats.Processing && after > 0 && !info.Since.IsZero() && now.Sub(info.Since) >= after
}

// hasStuck reports whether a shard has a stuck item.
func hasStuck(shards []stats.Shard, after time.Duration) bool {
	return after > 0 && slices.ContainsFunc(shards, func(s stats.Shard) bool { return s.OldestProcessing >= after })
}

// countStuck counts the stuck items of a queue. If atLeast is set, there may be
// more. It visits the items in flight, so it is called only if one of them is
// stuck.
func countStuck(n named, after time.Duration, now time.Time) (count int, atLeast bool) {
	visited := 0
	for info := range n.queue.Inspect().All(stats.Processing) {
		if visited++; visited > maxVisited {
			return count, true
		}
		if isStuck(info, after, now) {
			count++
		}
		if count == maxStuck {
			return count, true
		}
	}
	return count, false
}
