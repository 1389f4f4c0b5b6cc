package shardq

import (
	"fmt"
	"iter"
	"time"

	"github.com/shardq/shardq/stats"
)

// A GroupPolicy says how the items of a group are handed out: see
// [Options].GroupPolicy.
type GroupPolicy = stats.GroupPolicy

// A Rate limits how many items are handed out in a time: see [Options].Rate and
// [GroupPolicy]. Its fields are PerSecond and Burst.
type Rate = stats.Rate

// PauseGroup stops the items of a group from being handed out until a moment of
// the queue's clock. Call it when the service that the group's items need says
// when to come back, for example with the status 429 and a Retry-After:
//
//	queue.PauseGroup(tenant, time.Now().Add(retryAfter))
//
// The items stay ready, and the group goes on taking in others. A later
// PauseGroup of the group replaces the pause, and a moment that has passed ends
// it. After a shutdown, the pause of a group is as that of the queue: see
// [Queue.Pause]. PauseGroup panics without [Options].Group.
//
// If until is zero, the pause lasts until [Queue.ResumeGroup].
func (q *Queue[T]) PauseGroup(group string, until time.Time) { q.set().PauseGroup(group, until) }

// ResumeGroup ends the pause of a group, and wakes a parked consumer. It panics
// without [Options].Group.
func (q *Queue[T]) ResumeGroup(group string) { q.set().ResumeGroup(group) }

// RefreshGroup calls [Options].GroupPolicy for a group, and lets the result
// count at once. Call it when the policy has changed, and that must not wait
// for the group's next item. What is missing of the next token is earned at the
// new rate. An add that asked for the policy before may set the older one
// again. RefreshGroup panics without [Options].Group.
func (q *Queue[T]) RefreshGroup(group string) { q.set().RefreshGroup(group) }

// Groups returns an iterator over the groups that have items or are paused, in
// no order. No lock is held while the loop runs. It yields each group that has
// items throughout, and none twice. A group that gets its first item meanwhile
// may be missing.
func (q *Queue[T]) Groups() iter.Seq[stats.Group] { return q.set().Groups() }

// SetRate changes [Options].Rate. The tokens that are left stay, up to the new
// Burst. A greater Burst fills at the new rate. The zero Rate ends the limit.
// SetRate does not block, and a hook of the queue may call it.
//
// SetRate panics with the error of [Rate.Validate] if the rate has a fault.
// After a shutdown has begun, it cannot give a rate to a queue that had none.
func (q *Queue[T]) SetRate(r Rate) {
	if err := r.Validate(); err != nil {
		panic(fmt.Errorf("shardq: SetRate: %w", err))
	}
	q.set().SetRate(r)
}
