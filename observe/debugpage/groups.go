package debugpage

import (
	"cmp"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/stats"
)

// groups returns the groups with the most ready items, at most as many as there
// may be rows. It reads all groups, and keeps only these.
func (rd reader) groups(n named, has bool, ready int) []group {
	rows := []group{}
	if !has {
		return rows
	}
	for _, info := range rd.topGroups(n.queue) {
		rows = append(rows, rd.groupRow(n, info, ready))
	}
	return rows
}

func (rd reader) groupRow(n named, info stats.Group, ready int) group {
	name := rd.group(n.name, info.Group)
	row := group{
		Group: name.text, GroupLength: name.length, Ready: info.Ready, Share: share(info.Ready, ready),
		Processing: info.Processing, Held: info.Held, Weight: info.Weight, Throttled: info.Throttled, Shard: info.Shard,
	}
	if rd.linked {
		row.ID = groupID(info.Group)
	}
	return row
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
