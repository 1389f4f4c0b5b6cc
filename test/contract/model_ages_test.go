package contract

import (
	"time"

	"github.com/shardq/shardq/stats"
)

// modelAges has the times since which items are in their states.
type modelAges[T comparable] struct {
	// since has the tick of each item, on the axis of now, as far as the model
	// knows it.
	since map[T]time.Duration
	// vague says that the clock was set back. From then on the model knows
	// nothing.
	vague bool
	// fine says that stamps are of moments, not of ticks, because the queue
	// keeps metrics.
	fine bool
}

// stamp notes when an item enters its state.
func (m *modelQueue[T]) stamp(item T, at time.Duration) {
	if m.age.vague {
		delete(m.age.since, item)
		return
	}
	if m.age.since[item] = at; !m.age.fine {
		m.age.since[item] = m.tickOf(at)
	}
}

// tickOf returns the beginning of the tick of a moment.
func (m *modelQueue[T]) tickOf(at time.Duration) time.Duration { return at - (at%m.tick+m.tick)%m.tick }

// A stuckReport is a call of OnStuck, and its time.
type stuckReport[T comparable] struct {
	info stats.Item[T]
	at   time.Duration
}

// checkStuck checks that OnStuck was called once for each item that has been in
// processing for that long, no sooner, and at the next tick at the latest.
func (p *playing[T]) checkStuck() {
	if p.setup.ages.stuck == 0 {
		return
	}
	after := time.Duration(p.setup.ages.stuck) * p.model.tick
	for _, r := range p.takeStuck() {
		if p.model.age.vague {
			continue
		}
		since, known := p.model.age.since[r.info.Item]
		since = p.model.tickOf(since)
		if p.reported[r.info.Item] || known && r.at < plus(plus(since, after), p.model.tick) || r.info.State != stats.Processing {
			p.fatalf("OnStuck was called for %+v, in processing since %v, at %v; called before: %v",
				r.info, since, r.at, p.reported[r.info.Item])
		}
		p.reported[r.info.Item] = true
	}
	for item, since := range p.model.age.since {
		if p.model.inProcessing(item) && !p.model.age.vague && !p.model.closed && !p.reported[item] && p.model.now > plus(plus(since, after), p.model.tick) {
			p.fatalf("OnStuck was not called for %#v, in processing since %v, and now is %v", item, since, p.model.now)
		}
	}
}

func (p *playing[T]) takeStuck() []stuckReport[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	reports := p.stuck
	p.stuck = nil
	return reports
}
