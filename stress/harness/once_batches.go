package harness

import (
	"math"

	"github.com/shardq/shardq"
)

// AddBatchWith with NotAgainWithin (C79, C80). It does not say what was
// accepted, so a batch has only keys of which the ledger knows it: those in no
// window, which must run once, and those in a long window, which must not run.

// mostOnceInABatch limits the keys of such a batch.
const mostOnceInABatch = 20

// A onceBatch is the keys of an AddBatchWith.
type onceBatch struct {
	options shardq.AddOptions
	in      event
	keys    []int
	windows []*window // of the keys that must run, which are the first
	numbers []uint64  // of their adds
}

// addBatchOnce adds unused keys of the class of a key, ordered ones at once and
// delayed ones after a delay.
func (p *producer) addBatchOnce(key int) {
	b := onceBatch{options: p.onceOptions(key, 0), in: event{operation: opAdd, way: inABatch}}
	if classOf(key) == delayed {
		b.options.After = p.someDelay()
		b.in = event{operation: opAddAfter, way: inABatch, delay: b.options.After, stepped: p.timeless()}
	}
	b.in.way += onceIn(b.options)
	outside, inside := p.claimSome(key)
	if len(outside)+len(inside) == 0 {
		return
	}
	b.keys = append(b.keys, outside...)
	for _, key := range outside {
		b.windows = append(b.windows, p.beginOnce(key, &b))
	}
	for _, key := range inside {
		p.ledger.keys[key].windows.refused.Store(true)
	}
	again := outside[:p.roll(len(outside)+1)] // a second time, which must be refused
	b.keys = append(append(b.keys, inside...), again...)
	p.callBatchOnce(&b)
	for _, key := range inside {
		p.ledger.keys[key].use.Store(unused)
	}
}

// claimSome claims unused keys of the class and priority of a key: some in no
// window, and some in a long one.
func (p *producer) claimSome(like int) (outside, inside []int) {
	for range 1 + p.roll(mostOnceInABatch) {
		key := p.choose()&^3 + like&3
		if key >= p.plan.Keys || watched(key) || p.plan.priorityOf(key) != p.plan.priorityOf(like) ||
			!p.ledger.keys[key].claim() {
			continue
		}
		switch r := &p.ledger.keys[key]; {
		case r.windows.outsideWindows(p.ledger.time()):
			outside = append(outside, key)
		case r.windows.inLongWindow():
			inside = append(inside, key)
		default:
			r.use.Store(unused)
		}
	}
	return outside, inside
}

// beginOnce records that a key is about to be added.
func (p *producer) beginOnce(key int, b *onceBatch) *window {
	r := &p.ledger.keys[key]
	p.beginOrdered(r)
	b.numbers = append(b.numbers, p.ledger.want(key))
	if classOf(key) == delayed {
		r.due.Store(math.MaxInt64)
		r.policied.Store(false)
		b.in.clock = p.ledger.wantIn(key, b.options.After)
	}
	return p.ledger.windowOf(key, b.options.NotAgainWithin)
}

// callBatchOnce calls AddBatchWith, and records what must have happened.
func (p *producer) callBatchOnce(b *onceBatch) {
	p.sign()
	b.in.call = now()
	p.queue.addBatchWith(b.keys, b.options)
	b.in.end = now()
	b.in.unsure = p.queue.ShuttingDown()
	refused := uint64(len(b.keys) - len(b.windows))
	p.asked.immediate += refused
	p.asked.again += refused
	for i, w := range b.windows {
		p.settleOnce(b.keys[i], w, b.numbers[i], b.in)
	}
}

// settleOnce records that a key of a batch was accepted, unless a shutdown has
// begun.
func (p *producer) settleOnce(key int, w *window, number uint64, e event) {
	e.key = int32(key)
	p.asked.count(e.operation, e.delay)
	p.settleAdd(&e, number)
	r := &p.ledger.keys[key]
	if e.unsure {
		r.windows.unknown.Store(true)
	} else {
		p.ledger.accepted(key, w)
	}
	if classOf(key) == ordered {
		p.endOrdered(key, r)
	} else if !p.withdraw(key) {
		r.runsOnce()
	}
}
