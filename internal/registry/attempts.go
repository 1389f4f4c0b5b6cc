package registry

import "github.com/shardq/shardq/stats"

// GroupAttempts returns the attempts at items of the limit groups with the
// most, by the names of the groups. Names are those of [Reading.Groups]. Unlike
// there, the others are not added up: their sum would fall when one of them
// comes among the first, and a counter must not.
//
// If the queue has no groups, or panics, GroupAttempts returns nil.
func (r *Reading) GroupAttempts(limit int) (shown map[string]stats.GroupAttempts) {
	if !r.Configuration.Groups {
		return nil
	}
	defer func() {
		if shown == nil {
			_ = recover()
		}
	}()
	groups := r.Queue.Inspect().GroupAttempts(limit)
	shown = make(map[string]stats.GroupAttempts, len(groups))
	for _, g := range groups {
		g.Group = shownName(g.Group)
		for result, n := range shown[g.Group].Counts {
			g.Counts[result] += n
		}
		shown[g.Group] = g
	}
	return shown
}
