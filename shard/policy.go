package shard

import "time"

// A Delay says how [Set.AddWith] delays an item.
type Delay struct {
	// Duration is how long from now.
	Duration time.Duration
	// Policy says what becomes of an item that waits already.
	Policy Policy
	// MaxWait, if it is positive, bounds how long this wait of the item can be put
	// off: it ends MaxWait from now at the latest, whatever comes later.
	MaxWait time.Duration
	// Priority is what the item is to have at least, when it becomes ready: see levels.
	Priority int
	// Retry says that this counts as a retry.
	Retry bool
}

// A Policy says which of two deadlines counts: that of an item that waits already, or
// the one that it is given now.
type Policy uint8

const (
	// KeepEarliest keeps the earlier deadline: the item comes no later than anybody
	// asked for.
	KeepEarliest Policy = iota
	// KeepLatest keeps the later deadline: the item comes when nobody has asked for it
	// for a while (debounce).
	KeepLatest
	// KeepNew keeps the deadline that is given now.
	KeepNew
	// KeepOld keeps the deadline that was there: the new one is dropped.
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
