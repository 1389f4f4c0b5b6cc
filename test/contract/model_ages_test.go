package contract

import (
	"time"

	"github.com/shardq/shardq"
)

// modelAges is since when items are in their states.
type modelAges[T comparable] struct {
	// since has the tick of each, on the axis of now, as far as it is known.
	since map[T]time.Duration
	// vague says that the clock was set back: from there on nothing is known.
	vague bool
	// fine says that stamps are of moments, not of ticks: so they are with metrics.
	fine bool
}

// stamp notes that an item has come into its state.
func (m *modelQueue[T]) stamp(item T, at time.Duration) {
	if m.age.vague {
		delete(m.age.since, item)
		return
	}
	if m.age.since[item] = at; !m.age.fine {
		m.age.since[item] = m.tickOf(at)
	}
}

// tickOf returns when the tick began that a moment is in.
func (m *modelQueue[T]) tickOf(at time.Duration) time.Duration { return at - (at%m.tick+m.tick)%m.tick }

// A stuckReport is what the hook for stuck items was told, and when.
type stuckReport[T comparable] struct {
	info shardq.ItemInfo[T]
	at   time.Duration
}

// checkStuck checks that the hook was told of what has been in processing for so long, no
// sooner and once; and at the next tick at the latest.
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
		if p.told[r.info.Item] || known && r.at < plus(plus(since, after), p.model.tick) || r.info.State != shardq.Processing {
			p.fatalf("the hook was told of %+v, in processing since %v, at %v; told before: %v",
				r.info, since, r.at, p.told[r.info.Item])
		}
		p.told[r.info.Item] = true
	}
	for item, since := range p.model.age.since {
		if p.model.inProcessing(item) && !p.model.age.vague && !p.model.closed && !p.told[item] && p.model.now > plus(plus(since, after), p.model.tick) {
			p.fatalf("the hook was not told of %#v, in processing since %v, and now is %v", item, since, p.model.now)
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
