package traffic

import (
	"slices"
	"time"

	"github.com/shardq/shardq/stats"
)

// observe reads listings beside the traffic. Except in the last wave it adds
// sleepers: keys whose delay is long. Each listing must have them.
func (a *actor) observe(stop <-chan struct{}, last bool) {
	asleep := !last && a.plan.has(delays) && a.plan.capacity == 0
	for i := range sleepers {
		if asleep {
			a.adds.Add(1)
			a.queue.AddAfter(sleeper-i, 1000*time.Hour)
		}
	}
	for !closed(stop) && !a.found.Any() {
		a.read(asleep)
		yield()
	}
	for i := range sleepers {
		a.found.If(asleep && !a.cancel(sleeper-i).Delayed && !a.found.Any(),
			"delays: a sleeper is not delayed any more")
	}
}

func (a *actor) read(asleep bool) {
	switch a.IntN(6) {
	case 0:
		s := a.queue.Snapshot(1 + a.IntN(20))
		a.list(stats.Ready, s.Ready)
		a.list(stats.Processing, s.Processing)
		a.list(stats.Delayed, s.Delayed)
	case 1, 2:
		state := []stats.State{stats.Ready, stats.Processing, stats.Delayed}[a.IntN(3)]
		if n := a.list(state, slices.Collect(a.queue.All(state))); asleep && state == stats.Delayed && n != sleepers {
			a.found.Add("listings: All has %d sleepers of %d", n, sleepers)
		}
	case 3:
		seen := map[string]bool{}
		for g := range a.queue.Groups() {
			a.found.If(seen[g.Group] || g.Ready < 0 || g.Processing < 0 || g.Held < max(g.Ready, g.Processing),
				"listings: Groups has %+v (seen: %t)", g, seen[g.Group])
			seen[g.Group] = true
		}
	case 4:
		a.queue.Inspect().MostRetried(5)
		a.queue.RecentFailures(5)
	default:
		s, most := a.queue.Stats(), a.plan.keys+sleepers+int(a.contests.Load())
		if n := max(s.Ready, s.Processing, s.Delayed, s.Held, a.queue.Len()); n > most {
			a.found.Add("listings: of at most %d keys, Stats has %+v", most, s)
		}
	}
}

func (a *actor) list(state stats.State, all []stats.Item[int]) (asleep int) {
	seen := map[int]bool{}
	for _, item := range all {
		a.found.If(seen[item.Item] || item.State != state || item.Item >= a.plan.keys,
			"listings: that of %v has %+v (seen: %t)", state, item, seen[item.Item])
		seen[item.Item] = true
		if item.Item <= sleeper && item.Item > sleeper-sleepers {
			asleep++
		}
	}
	return asleep
}
