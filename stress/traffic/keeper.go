package traffic

import (
	"context"
	"time"

	"github.com/shardq/shardq/stats"
)

// keep pauses and resumes the queue and its groups, changes the number of workers,
// and reads listings. It resumes all before it returns.
func (a *actor) keep(wave context.Context) {
	for wave.Err() == nil && !a.found.Any() {
		switch group := a.IntN(len(a.plan.limits)+1) - 1; a.IntN(6) {
		case 0:
			a.read()
		case 1:
			if a.pool != nil {
				a.pool.Resize(1 + a.IntN(2*a.plan.consumers))
			}
		case 2, 3:
			if a.plan.pauses {
				a.pause(group)
			}
		default:
			a.resume(group)
		}
		yield()
	}
	a.resumeAll()
}

// pause pauses a group, or the queue. A group resumes alone now and then.
func (a *actor) pause(group int) {
	until := time.Time{}
	if a.chance(2) {
		until = time.Now().Add(a.upTo(longest))
	}
	if group < 0 {
		a.queue.Pause()
	} else {
		a.queue.PauseGroup(groupName(group), until)
	}
}

func (r *round) resume(group int) {
	if group < 0 {
		r.queue.Resume()
	} else {
		r.queue.ResumeGroup(groupName(group))
	}
}

func (r *round) resumeAll() {
	for group := range len(r.plan.limits) + 1 {
		r.resume(group - 1)
	}
}

// read reads a listing, in which no key stands twice, and measures, which only the
// race detector checks.
func (a *actor) read() {
	seen := map[int]bool{}
	for item := range a.queue.All([]stats.State{stats.Ready, stats.Processing, stats.Delayed}[a.IntN(3)]) {
		a.found.If(seen[item.Item], "listings: key %d stands in one twice", item.Item)
		seen[item.Item] = true
	}
	a.queue.Snapshot(1 + a.IntN(20))
	a.queue.Stats()
	for range a.queue.Groups() {
	}
}
