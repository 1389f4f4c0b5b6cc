package harness

import (
	"context"
	"time"

	"github.com/shardq/shardq"
)

// Batches have the same effect as single calls (C37), and are recorded as such.

// mostInABatch limits the keys of a batch. A queue processes 64 at a time.
// Where user code panics, a batch has no more, so that all of it or nothing has
// an effect.
func (a *actor) mostInABatch() int {
	if a.has(Panics) {
		return 64
	}
	return 150
}

const inABatch = " in a batch"

// addBatch calls AddBatch with the keys that are affordable.
func (a *actor) addBatch(keys []int) {
	var batch []int
	for _, key := range keys {
		if a.affordable(opAdd, key) {
			batch = append(batch, key)
		}
	}
	numbers := make([]uint64, len(batch))
	if a.ledger != nil {
		for i, key := range batch {
			numbers[i] = a.ledger.want(key)
		}
	}
	a.sign()
	e := event{operation: opAdd, way: inABatch, call: now()}
	panicked := attempt(func() { a.queue.addBatch(batch) })
	e.end = now()
	e.unsure = panicked != noPanic || a.queue.ShuttingDown()
	for i, key := range batch {
		if panicked == noPanic {
			a.asked.count(opAdd, 0)
		}
		e.key = int32(key)
		a.settleAdd(&e, numbers[i])
	}
}

// getBatch calls GetBatch.
func (a *actor) getBatch(size int) (keys []int, open bool) {
	return a.getSome("C37", "GetBatch", size, a.queue.getBatch)
}

// getSome makes a call that takes keys, by a clause, with a context that may
// end.
func (a *actor) getSome(clause, name string, size int, ask func(context.Context, []int) (int, error)) (keys []int, open bool) {
	a.operations++
	ctx, cancel := a.context, context.CancelFunc(func() {})
	lasts := a.chance(2)
	if !lasts {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.roll(1000))*time.Microsecond)
	}
	defer cancel()
	into := make([]int, size)
	a.readOrder()
	e := event{operation: opGet, way: inABatch, call: now()}
	n, err := ask(ctx, into)
	e.end = now()
	switch {
	case err == nil && (n < 1 || n > size), err != nil && n != 0:
		a.violated.report(clause, -1, "%s with room for %d returned %d and the error %v", name, size, n, err)
		return nil, err != shardq.ErrShutDown
	case err == shardq.ErrShutDown:
		a.recordNothing(event{operation: opGetNothing, key: -1, call: e.call, end: e.end, way: inABatch})
		return nil, false
	case lasts && err != nil:
		a.violated.report(clause, -1, "%s returned %v, and its context has not ended", name, err)
	}
	for _, key := range into[:n] {
		if !a.strange(key) {
			a.took(e, key)
			a.passed(key)
			keys = append(keys, key)
		}
	}
	return keys, true
}

// passed updates the reading of the frontiers: a key of a batch is before
// the next one.
func (a *actor) passed(key int) {
	if a.ledger == nil || a.ledger.order == nil || classOf(key) != ordered {
		return
	}
	group := a.plan.lineOf(key)
	a.before[group] = max(a.before[group], a.ledger.keys[key].began.Load())
}

// doneBatch calls DoneBatch. If the hash function panics in it, it calls it
// again.
func (a *actor) doneBatch(keys []int) {
	for again := true; again; {
		a.sign()
		e := event{operation: opDone, way: inABatch, call: now()}
		again = attempt(func() { a.queue.doneBatch(keys) }) == hashPanics
		e.end, e.unsure = now(), again
		for _, key := range keys {
			e.key = int32(key)
			a.record(e)
		}
	}
	a.dones += uint64(len(keys))
}

// nextSome takes a batch, or some keys one by one, and ends them together or
// one by one.
func (c *consumer) nextSome() (open bool) {
	size := 1 + c.roll(c.roll(c.mostInABatch())+1)
	if c.chance(3) {
		keys, open := c.collect(min(size, 20))
		c.processAll(keys)
		return open
	}
	keys, open := c.getBatch(size)
	c.processAll(keys)
	return open
}

// collect takes keys one by one. It waits long only for the first. A worker
// that holds keys does not leave at the shutdown, because their Dones may make
// them ready again.
func (c *consumer) collect(size int) (keys []int, open bool) {
	key, open := c.get()
	for key >= 0 && open {
		if keys = append(keys, key); len(keys) == size {
			break
		}
		key, open = c.getFor(time.Duration(c.roll(200)) * time.Microsecond)
	}
	return keys, open || len(keys) > 0
}

func (c *consumer) processAll(keys []int) {
	defer c.finishAll(keys) // also if the work panics or exits
	for _, key := range keys {
		c.work(key)
	}
}

func (c *consumer) finishAll(keys []int) {
	switch {
	case len(keys) == 0:
	case c.chance(2):
		for i := range keys {
			c.finish(keys[len(keys)-1-i])
		}
	default:
		for _, key := range keys {
			c.endInLedger(key)
		}
		c.doneBatch(keys)
		for _, key := range keys {
			c.ranInLedger(key)
		}
	}
}
