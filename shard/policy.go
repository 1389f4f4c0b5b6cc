package shard

import "time"

// A Delay configures how [Set.AddWith] delays an item.
type Delay struct {
	// Duration is the length of the delay, from now.
	Duration time.Duration
	// Policy is the policy for an item that is delayed already.
	Policy Policy
	// MaxWait limits how long this delay of the item can be prolonged: it
	// expires at most MaxWait from now, whatever calls follow. If zero or less,
	// there is no limit.
	MaxWait time.Duration
	// Priority is the least priority of the item when it becomes ready: see
	// levels.
	Priority int
	// Retry counts the add as a retry.
	Retry bool
	// Window makes the set refuse the add if the item was added within its
	// window, and otherwise opens one of that length. If zero or less, the add
	// asks for no window.
	Window time.Duration
	// UnlessReady drops the delay of an item that is ready or dirty: the run to
	// come serves this add as well.
	UnlessReady bool
}

// A Policy chooses between two deadlines of a delayed item: the old one and the
// new one.
type Policy uint8

const (
	// KeepEarliest keeps the earlier deadline: the item becomes ready no later
	// than any call asked for.
	KeepEarliest Policy = iota
	// KeepLatest keeps the later deadline: the item becomes ready when there
	// has been no call for a while (debounce).
	KeepLatest
	// KeepNew keeps the new deadline.
	KeepNew
	// KeepOld keeps the old deadline.
	KeepOld

	policies
)

// Valid reports whether p is one of the policies.
func (p Policy) Valid() bool { return p < policies }

// choose returns the deadline that counts.
func (p Policy) choose(filed, given uint64) uint64 {
	switch p {
	case KeepLatest:
		return max(filed, given)
	case KeepNew:
		return given
	case KeepOld:
		return filed
	default:
		return min(filed, given)
	}
}
