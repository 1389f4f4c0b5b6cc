package shard

import "time"

// A Delay configures how [Set.AddWith] delays an item.
type Delay struct {
	// Duration is the length of the delay, from now.
	Duration time.Duration
	// Policy is the policy for an item that is delayed already.
	Policy DelayPolicy
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

// A DelayPolicy says which of two deadlines counts: that of an item that is
// delayed already, or the new one.
type DelayPolicy uint8

const (
	// KeepEarliest keeps the earlier deadline, as AddAfter does.
	KeepEarliest DelayPolicy = iota
	// KeepLatest keeps the later deadline, so the item becomes ready when no
	// call has added it for a while (debounce). A MaxWait limits that time.
	KeepLatest
	// KeepNew keeps the new deadline: the item is rescheduled.
	KeepNew
	// KeepOld keeps the old deadline, and drops the new one.
	KeepOld

	policies
)

// Valid reports whether p is one of the policies.
func (p DelayPolicy) Valid() bool { return p < policies }

// choose returns the deadline that counts.
func (p DelayPolicy) choose(filed, given uint64) uint64 {
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
