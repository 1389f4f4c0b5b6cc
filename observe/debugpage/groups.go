package debugpage

import (
	"cmp"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/stats"
)

// groups returns the groups with the most ready items, at most as many as there
// may be rows. It reads all groups, and keeps only these.
func (rd reader) groups(n named, ready int, now time.Time, has bool) []group {
	rows := []group{}
	if !has {
		return rows
	}
	for _, info := range rd.topGroups(n.queue) {
		rows = append(rows, rd.groupRow(n, info, ready, now))
	}
	return rows
}

// groupRow returns the row of a group at a time of the queue's clock.
func (rd reader) groupRow(n named, info stats.Group, ready int, now time.Time) group {
	name := rd.group(n.name, info.Group)
	row := group{
		Group: name.text, GroupLength: name.length, Ready: info.Ready, Share: share(info.Ready, ready),
		OldestReadySeconds: optional(max(now.Sub(info.Oldest), 0), !info.Oldest.IsZero()),
		Processing:         info.Processing, Held: info.Held, Weight: info.Weight,
		Throttled: info.Throttled, ThrottledBy: info.Reason.String(),
		PauseLeftSeconds: optional(max(info.PausedUntil.Sub(now), 0), !info.PausedUntil.IsZero()),
		Limit:            info.Limit, Shard: info.Shard,
	}
	if info.Paused {
		row.ThrottledBy = stats.ThrottledByPause.String()
	}
	if info.Rate.PerSecond > 0 {
		row.RatePerSecond, row.Burst = &info.Rate.PerSecond, max(info.Rate.Burst, 1)
	}
	row.ID = groupID(info.Group)
	return row
}

// restraint says what keeps a group's items from being handed out, and until
// when.
func (g group) restraint() string {
	switch {
	case g.ThrottledBy == "":
		return "no"
	case !g.paused():
		return "by its " + g.ThrottledBy
	case g.PauseLeftSeconds == nil:
		return "paused until it is resumed"
	}
	return "paused for another " + formatDuration(g.PauseLeftSeconds.duration())
}

func (g group) paused() bool { return g.ThrottledBy == stats.ThrottledByPause.String() }

// rate returns the rate of a group in words.
func (g group) rate() string {
	if g.RatePerSecond == nil {
		return "no limit"
	}
	return formatDecimal(*g.RatePerSecond) + " per second, bursts of " + formatCount(g.Burst)
}

func (rd reader) topGroups(queue shardq.Inspector) []stats.Group {
	top := topk.New(rd.rows, byReady)
	for info := range queue.Groups() {
		top.Add(info)
	}
	return top.Values()
}

// byReady orders groups by the most ready items, then by the most items in
// processing, and then by name.
func byReady(a, b stats.Group) int {
	return cmp.Or(cmp.Compare(b.Ready, a.Ready), cmp.Compare(b.Processing, a.Processing), cmp.Compare(a.Group, b.Group))
}

// share returns a share of the whole. The two values come from two readings, so
// the result is limited to 1.
func share(part, whole int) float64 {
	if whole <= 0 {
		return 0
	}
	return min(float64(part)/float64(whole), 1)
}
