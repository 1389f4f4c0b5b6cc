package shardq

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/stats"
)

// A Rate limits how many items are handed out in a time: see
// [Options].GroupRate and [Options].Rate.
//
// In any t seconds at most Burst + PerSecond · (t + two ticks) items are handed
// out, by the readings of the clock with which the Gets begin. The two ticks
// make up for waits, which end at the start of a tick, and for the time in
// which a consumer wakes up. After more than ten ticks without a hand-out,
// Burst items are handed out at once, and no more.
//
// The zero Rate is no limit.
type Rate struct {
	// PerSecond is the number of items that are handed out in a second.
	PerSecond float64
	// Burst is the number of items that may be handed out at once after a rest.
	//
	// If zero, it is 1.
	Burst int
}

// Validate returns one error that names every fault, or nil.
func (r Rate) Validate() error { return stats.Rate(r).Validate() }

// groupRate returns GroupRate as the shards call it, or nil.
func (o Options[T]) groupRate() func(group string) stats.Rate {
	of := o.GroupRate
	if of == nil {
		return nil
	}
	return func(group string) stats.Rate {
		r := stats.Rate(of(group))
		if err := r.Validate(); err != nil {
			panic(fmt.Errorf("shardq: Options.GroupRate of %q: %w", group, err))
		}
		return r
	}
}

// PauseGroup stops the items of a group from being handed out until a moment of
// the queue's clock. Call it when the service that the group's items need says
// when to come back, for example with the status 429 and a Retry-After:
//
//	queue.PauseGroup(tenant, time.Now().Add(retryAfter))
//
// The group is throttled meanwhile. Its items stay ready, and it goes on taking
// in others. Items in processing stay there, and a Get that has begun may still
// return an item. The group need not have items yet. A later PauseGroup of the
// group replaces the pause, and a moment that has passed ends it. The pause
// ends at the first tick at or after the moment, and a parked consumer wakes.
//
// After a shutdown has begun, a drain goes on waiting for the items of paused
// groups, and so do Gets. Once [Queue.ShutDown] was called, Gets do not: they
// report the shutdown, and the items stay ready.
//
// If until is zero, the pause lasts until [Queue.ResumeGroup]. PauseGroup
// panics without [Options].Group.
func (q *Queue[T]) PauseGroup(group string, until time.Time) { q.shards.PauseGroup(group, until) }

// ResumeGroup ends the pause of a group, and wakes a parked consumer. It has no
// effect on a group that is not paused. It panics without [Options].Group.
func (q *Queue[T]) ResumeGroup(group string) { q.shards.ResumeGroup(group) }

// RefreshGroup calls GroupWeight, GroupLimitOf and GroupRate of the [Options]
// for a group, and lets the results count at once. Call it when one of them
// returns something else for the group, and that must not wait for the group's
// next item. What is missing of the next token is earned at the new rate. The
// result of an add that asked one of the three before may still count after
// RefreshGroup, until the group's next add or RefreshGroup. RefreshGroup panics
// without [Options].Group.
func (q *Queue[T]) RefreshGroup(group string) { q.shards.RefreshGroup(group) }

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
	q.shards.SetRate(stats.Rate(r))
}

// Pause stops the queue from handing out items. It goes on taking them in, and
// delays go on expiring. Items in processing stay there, and a Get that has
// begun may still return an item. Pauses do not add up: one Resume ends them.
//
// After a shutdown has begun, a drain goes on waiting for the ready items, and
// so do Gets. Once [Queue.ShutDown] was called, Gets do not: they report the
// shutdown, and the items stay ready.
func (q *Queue[T]) Pause() { q.shards.Pause() }

// Resume ends a [Queue.Pause], and wakes parked consumers. It has no effect if
// the queue is not paused.
func (q *Queue[T]) Resume() { q.shards.Resume() }
