package ledger

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
)

// Gates check what holds keys back: the limit of a group, pauses, and rates. A
// target is a group, by its number, or Whole.
type Gates struct {
	// GroupOf returns the group of a key, or Whole if there are no groups.
	GroupOf func(key int) int
	// Limits are the greatest limits of the groups, or 0.
	Limits []int32
	// Slack is two ticks.
	Slack time.Duration

	holding []atomic.Int32
	stops   []atomic.Pointer[stop]
	meters  []atomic.Pointer[meter]
}

// Whole is the target that is the queue.
const Whole = 0

// NewGates returns gates of that many targets, with Whole.
func NewGates(targets int, groupOf func(key int) int) *Gates {
	return &Gates{
		GroupOf: groupOf, Limits: make([]int32, targets), holding: make([]atomic.Int32, targets),
		stops: make([]atomic.Pointer[stop], targets), meters: make([]atomic.Pointer[meter], targets),
	}
}

// A stop is a pause that surely holds: Gets called after since return nothing,
// until the clock reads until.
type stop struct{ since, until int64 }

// Forever is the end of a pause that only a call ends.
const Forever = math.MaxInt64

// Stopped is called after a call that pauses a target. Reopened is called
// before each call that pauses or resumes it.
func (g *Gates) Stopped(target int, until int64) { g.stops[target].Store(&stop{Now(), until}) }

// Reopened ends what Stopped began.
func (g *Gates) Reopened(target int) { g.stops[target].Store(nil) }

// Paused reports whether a pause surely holds.
func (g *Gates) Paused(target int) bool { return g.stops[target].Load() != nil }

// A meter counts the hand-outs of Gets that were called after it began.
type meter struct {
	rate   shardq.Rate
	from   int64 // the time before it began
	after  int64 // the stamp at which it began
	counts atomic.Int64
}

// Meter begins to count. The rate is the greatest that the target has from now
// on.
func (g *Gates) Meter(target int, rate shardq.Rate, clock func() int64) {
	g.meters[target].Store(&meter{rate: rate, from: clock(), after: Now()})
}

// Unmeter is called before the rate of a target ends.
func (g *Gates) Unmeter(target int) { g.meters[target].Store(nil) }

func (g *Gates) begin(l *Ledger, key int, r *record, called int64) {
	if g == nil {
		return
	}
	group := g.GroupOf(key)
	g.check(l, Whole, key, r, called)
	if group == Whole {
		return
	}
	g.check(l, group, key, r, called)
	if limit := g.Limits[group]; limit > 0 {
		n := g.holding[group].Add(1)
		l.check(r, n > limit,
			"limits: with key %d, consumers have %d keys of group %d, whose limit is %d", key, n, group, limit)
	}
}

func (g *Gates) end(key int) {
	if g == nil {
		return
	}
	if group := g.GroupOf(key); group != Whole && g.Limits[group] > 0 {
		g.holding[group].Add(-1)
	}
}

func (g *Gates) check(l *Ledger, target, key int, r *record, called int64) {
	if s := g.stops[target].Load(); s != nil {
		l.check(r, called > s.since && l.Time() < s.until, "pauses: key %d was handed out by a Get that was called %v after a pause of target %d",
			key, time.Duration(called-s.since), target)
	}
	m := g.meters[target].Load()
	if m == nil || called <= m.after {
		return
	}
	n := m.counts.Add(1)
	most := float64(m.rate.Burst) + m.rate.PerSecond*(time.Duration(l.Time()-m.from)+g.Slack).Seconds()
	l.check(r, g.meters[target].Load() == m && float64(n) > most+1e-6,
		"rates: with key %d, %d keys of target %d were handed out; the rate %v allows %.1f", key, n, target, m.rate, most)
}
