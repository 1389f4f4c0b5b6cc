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
	GroupOf func(key int) int // it returns Whole if there are no groups
	Limits  []int32           // the greatest, or 0
	Slack   time.Duration     // two ticks

	holding []atomic.Int32
	stops   []atomic.Pointer[stop]
	meters  []atomic.Pointer[meter]
}

// Whole is the target that is the queue.
const Whole = 0

// NewGates returns gates of that many targets, with Whole.
func NewGates(n int, groupOf func(key int) int) *Gates {
	return &Gates{
		GroupOf: groupOf, Limits: make([]int32, n), holding: make([]atomic.Int32, n),
		stops: make([]atomic.Pointer[stop], n), meters: make([]atomic.Pointer[meter], n),
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
	g.check(l, Whole, key, r, called)
	if group := g.GroupOf(key); group != Whole {
		g.check(l, group, key, r, called)
		n, limit := g.holding[group].Add(1), g.Limits[group]
		l.check(r, limit > 0 && n > limit,
			"limits: with key %d, consumers have %d keys of group %d, whose limit is %d", key, n, group, limit)
	}
}

func (g *Gates) end(key int) {
	if g != nil {
		g.holding[g.GroupOf(key)].Add(-1) // that of Whole means nothing
	}
}

func (g *Gates) check(l *Ledger, target, key int, r *record, called int64) {
	if s := g.stops[target].Load(); s != nil {
		l.check(r, called > s.since && l.Time() < s.until,
			"pauses: key %d was handed out by a Get that was called %v after a pause of target %d",
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
