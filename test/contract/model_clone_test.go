package contract

import (
	"maps"
	"slices"
	"time"
)

// clone returns a copy that goes its own way, to try what may have happened.
func (m *model) clone() *model {
	c := *m
	c.items, c.lines = copies(m.items), copies(m.lines)
	for _, l := range c.lines {
		l.ranks = maps.Clone(l.ranks)
	}
	c.circles, c.takes, c.latest, c.forgotten = maps.Clone(m.circles), maps.Clone(m.takes), maps.Clone(m.latest), maps.Clone(m.forgotten)
	c.policy, c.windows, c.limiter = maps.Clone(m.policy), maps.Clone(m.windows), maps.Clone(m.limiter)
	c.measured.asked, c.measured.begun = maps.Clone(m.measured.asked), maps.Clone(m.measured.begun)
	c.misused, c.reported, c.bounds.reported = slices.Clip(m.misused), slices.Clip(m.reported), slices.Clip(m.bounds.reported)
	for _, durations := range []*[]time.Duration{&c.measured.queued, &c.measured.worked, &c.measured.delays} {
		*durations = slices.Clip(*durations)
	}
	c.clonePending()
	return &c
}

// clonePending copies the blocked calls, and the lists of them.
func (c *model) clonePending() {
	of, shared := map[*pending]*pending{}, map[*sharedDrop]*sharedDrop{nil: nil}
	for _, list := range []*[]*pending{&c.pending, &c.bounds.waiters, &c.ends.plain, &c.ends.drains, &c.ends.idlers} {
		*list = slices.Clone(*list)
		for i, w := range *list {
			if of[w] == nil {
				copied := *w
				if _, known := shared[w.shared]; !known {
					drop := *w.shared
					shared[w.shared] = &drop
				}
				copied.shared = shared[w.shared]
				of[w] = &copied
			}
			(*list)[i] = of[w]
		}
	}
}

func copies[K comparable, V any](of map[K]*V) map[K]*V {
	copied := make(map[K]*V, len(of))
	for key, value := range of {
		one := *value
		copied[key] = &one
	}
	return copied
}
