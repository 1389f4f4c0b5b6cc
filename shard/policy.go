package shard

import (
	"time"

	"github.com/shardq/shardq/shard/internal/line"
)

// A Delay configures how [Set.AddWith] delays an item.
type Delay struct {
	Duration time.Duration // from now
	Until    uint64        // the earliest moment at which the delay may end, from [Core.Moment], or 0
	Policy   DelayPolicy   // for an item that is delayed already
	MaxWait  time.Duration // limits how long later calls can prolong the delay, unless it is zero or less
	Priority int           // the least priority when the item becomes ready
	Retry    bool          // count the add as a retry
	Reports  bool          // the caller reports a refused [Core.Retry], which does not count as dropped
	Limited  bool          // ask Config.Backoff for a duration; the longer counts
	// Window, if positive, makes the set refuse the add while a window of the
	// item is open, and otherwise opens one.
	Window      time.Duration
	Backoff     bool // with Config.KeepBackoff: the run at the end of the delay serves all adds until then
	UnlessReady bool // drops the delay if the item is ready or dirty, because that run serves it
}

func (d *Delay) files() bool { return d.Duration > 0 || d.Until != 0 || d.Policy != KeepEarliest }

// Moment returns a value for Delay.Until, never 0. It uses the clock's
// present reading, because the wall clock may have been changed since New.
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

type request struct {
	priority     int  // the least priority of the run
	cancelsDelay bool // of a delayed item, and the delay's priority counts too
	keepsDelay   bool // the run at the end of the delay serves the add
	expired      bool // the add is the end of a delay
}

func (s *Settings) request(priority int) request {
	return request{priority: priority, cancelsDelay: s.Rules.CancelDelayOnAdd}
}

// A DelayedPolicy decides what a Drain does with delayed items.
type DelayedPolicy uint8

const (
	DropDelayed  DelayedPolicy = iota // drop and return them
	RunDelayed                        // make them ready at once
	AwaitDelayed                      // wait until their delays have expired
	delayedPolicies
)

func (w DelayedPolicy) Valid() bool { return w < delayedPolicies }

// Draining configures a Drain.
type Draining struct {
	Delayed DelayedPolicy // for items that are delayed when the drain begins
	Retries bool          // accepts adds of items in processing until it is over
}

// MaxGroupWeight is the greatest weight of a group.
const MaxGroupWeight = line.MaxGroupWeight

type address struct {
	hash uint32
	mark uint8 // of the processing that was under way when the item was added, or 0
	line.Tag
}
