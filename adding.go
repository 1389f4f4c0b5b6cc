package shardq

import (
	"time"

	"github.com/shardq/shardq/shard"
)

// AddOptions say how [Queue.AddWith] adds an item.
type AddOptions struct {
	// After is the delay, as of [Queue.AddAfter].
	After time.Duration
	// RateLimited asks the queue's limiter for a delay, as [Queue.AddRateLimited]
	// does, and counts a requeue. With After, the longer of the two delays counts.
	RateLimited bool
	// Policy says which deadline counts if the item waits already. Without a delay, it
	// says whether the item waits on: KeepEarliest makes it ready and leaves its delay
	// to [Options].CancelDelayOnAdd, as Add does; KeepNew makes it ready and cancels
	// the delay; with the other two it waits on. An item that does not wait is delayed
	// as if there were no policy.
	Policy DelayPolicy
	// MaxWait, if it is positive, bounds how long this wait of the item can be put off:
	// it ends MaxWait from now at the latest, also by later calls. If several calls
	// bound it, the earliest bound counts. Without a delay, it has no effect under
	// KeepEarliest, which leaves the wait alone.
	MaxWait time.Duration
	// Priority is what the item is to have at least when it is ready: the items of a
	// higher priority are handed out first, and those of one in the order in which they
	// became ready. Any int will do; the adds that do not say, such as [Queue.Add], have 0.
	//
	// Of the adds that one run serves the highest priority counts, and a ready item whose
	// priority rises goes to the end of those that have it. Each run begins anew: an item
	// that is added while it is in processing has, for its next run, the highest that was
	// asked for since its Get. The end of a delay adds the item with the highest
	// priority that was asked for with it.
	//
	// That is exact within a shard. Across shards, a Get prefers the shard that has the
	// highest: see docs/reference/semantics.md. The number of priorities in use matters little.
	Priority int
}

// A DelayPolicy says which of two deadlines counts: that of an item that waits already, or
// the one that it is given now.
type DelayPolicy = shard.Policy

const (
	// KeepEarliest keeps the earlier deadline, as AddAfter does.
	KeepEarliest = shard.KeepEarliest
	// KeepLatest keeps the later deadline: the item comes when nobody has asked for it
	// for a while (debounce). [AddOptions].MaxWait bounds how long that may go on.
	KeepLatest = shard.KeepLatest
	// KeepNew keeps the deadline that is given now: the item is rescheduled.
	KeepNew = shard.KeepNew
	// KeepOld keeps the deadline that was there: the new one is dropped.
	KeepOld = shard.KeepOld
)
