package shard

import "time"

// A Delay configures how [Set.AddWith] delays an item.
type Delay struct {
	Duration time.Duration // from now
	Until    uint64        // the least moment of the end, as [Set.Moment], or 0
	Policy   DelayPolicy   // for an item that is delayed already
	MaxWait  time.Duration // limits how long later calls can prolong the delay, unless it is zero or less
	Priority int           // the least priority when the item becomes ready
	Retry    bool          // count the add as a retry
	// Window, if positive, makes the set refuse the add if the item was added
	// within its window, and otherwise opens one.
	Window      time.Duration
	Backoff     bool // with Config.KeepBackoff: adds until its end are served by the run then
	UnlessReady bool // drops the delay if the item is ready or dirty, for the run to come
}

func (d *Delay) files() bool { return d.Duration > 0 || d.Until != 0 || d.Policy != KeepEarliest }

// Moment returns a moment of the set's clock for a Delay. It is not 0. It goes by
// the present reading: the wall clock may have been set since the set was made.
func (s *Core) Moment(at time.Time) uint64 {
	now := s.time.Clock.Now()
	left, moment := at.Sub(now), s.time.MomentOf(now)
	if left < 0 {
		return max(1, moment-min(moment, uint64(-left)))
	}
	return moment + uint64(left)
}

// A DelayPolicy chooses between an item's deadline and a new one.
type DelayPolicy uint8

const (
	KeepEarliest DelayPolicy = iota // the earlier deadline, as AddAfter does
	KeepLatest                      // the later deadline (debounce), limited by MaxWait
	KeepNew                         // the new deadline: the item is rescheduled
	KeepOld                         // the old deadline

	policies
)

// Valid reports whether p is one of the policies.
func (p DelayPolicy) Valid() bool { return p < policies }

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
