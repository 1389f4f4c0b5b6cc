package harness

import (
	"context"
	"time"
)

// opening checks a new queue before other actors use it, one call after the
// other. The result of each call is exactly known. User code does not panic
// meanwhile.
type opening struct {
	*actor
	first int // the first of the keys that only the opening uses
}

// strangers is the first key, above those of the plan, that no producer adds.
const strangers = 64

// open checks a new queue, and leaves it at rest.
func (r *round) open() {
	r.suppressed.Store(true)
	defer r.suppressed.Store(false)
	o := opening{r.newActor(), r.plan.Keys + strangers}
	for _, check := range []func(){o.asNew, o.lengths, o.contexts, o.delays, o.limits, o.cancels, o.control, o.cyclesAfterOpening} {
		if check(); r.violated.stopped.Load() {
			return
		}
	}
}

// expect compares Len and Stats with the expected values.
func (o opening) expect(ready, delayed, processing int) {
	o.operations++
	if n := o.queue.Len(); n != ready {
		o.violated.report("C6", -1, "with %d items ready, %d delayed and %d in processing, and no other actor, Len is %d",
			ready, delayed, processing, n)
	}
	s, ok := o.queue.stats()
	if ok && (s.Ready != ready || s.Delayed != delayed || s.Processing != processing) {
		o.violated.report("Stats", -1, "with %d items ready, %d delayed and %d in processing, and no other actor, Stats is %+v",
			ready, delayed, processing, s)
	}
}

// add adds a key without an entry in a history.
func (o opening) add(op operation, key int, delay time.Duration) {
	o.sign()
	o.asked.count(op, delay)
	o.call(op, key, delay)
}

// take gets a key. After a violation it does not, because a Get could block
// forever.
func (o opening) take() (key int) {
	if o.violated.stopped.Load() {
		return 0
	}
	o.sign()
	key, shutdown := o.queue.Get()
	if shutdown {
		o.violated.report("C10", -1, "Get reported a shutdown before there was one")
		return 0
	}
	o.gets++
	if key < o.first {
		o.violated.report("C16", -1, "an item was handed out that was not added")
	}
	return key
}

func (o opening) end(key int) {
	o.sign()
	o.dones++
	o.queue.Done(key)
}

// asNew checks that a new queue is empty and open.
func (o opening) asNew() {
	if o.queue.ShuttingDown() {
		o.violated.report("C10", -1, "ShuttingDown is true for a new queue")
	}
	o.expect(0, 0, 0)
}

// lengths checks that Len counts each ready item once.
func (o opening) lengths() {
	n := 1 + o.roll(20)
	for i := range n {
		o.add(opAdd, o.first+i, 0)
		o.expect(i+1, 0, 0)
	}
	o.add(opAdd, o.first, 0)
	o.expect(n, 0, 0)
	key := o.take()
	o.expect(n-1, 0, 1)
	o.add(opAdd, key, 0)
	if o.features.ExactLen {
		o.expect(n-1, 0, 1)
	}
	o.end(key)
	for i := range n {
		o.expect(n-i, 0, 0)
		key := o.take()
		o.expect(n-i-1, 0, 1)
		o.end(key)
	}
	o.expect(0, 0, 0)
}

// contexts checks that GetContext takes nothing if its context has ended, and
// does not outlast its context.
func (o opening) contexts() {
	if !o.queue.contextual() {
		return
	}
	ended, cancel := context.WithCancel(o.context)
	cancel()
	o.add(opAdd, o.first, 0)
	if _, _, err := o.queue.getContext(ended); err == nil {
		o.violated.report("C35", -1, "GetContext took an item after its context had ended")
		return
	}
	o.expect(1, 0, 0)
	o.end(o.take())
	o.blocks()
}

// blocks checks that a GetContext of an empty queue returns when its context
// ends.
func (o opening) blocks() {
	short, cancel := context.WithTimeout(o.context, 100*time.Microsecond)
	defer cancel()
	returned := make(chan bool, 1)
	go func() {
		_, ok, err := o.queue.getContext(short)
		returned <- ok || err == nil
	}()
	select {
	case wrong := <-returned:
		if wrong {
			o.violated.report("C35", -1, "GetContext of an empty queue returned no error")
		}
	case <-time.After(grace):
		o.violated.report("C35", -1, "GetContext was still there %v after its context had ended", grace)
	}
}

// delays checks that a delay expires at a tick after its deadline, and by a
// fake clock at the next tick.
func (o opening) delays() {
	for range 3 {
		o.delayed(opAddAfter, time.Duration(1+o.roll(int(longestDelay)/2)))
	}
}

// delayed adds a key, and takes it when the delay has expired.
func (o opening) delayed(op operation, delay time.Duration) {
	before, _ := o.queue.stats()
	began := time.Now()
	o.add(op, o.first, delay)
	if o.fake != nil {
		o.pass(delay)
	}
	o.end(o.take())
	if early := delay - time.Since(began); o.fake == nil && early > 0 {
		o.violated.report("C19", -1, "an item was handed out at least %v before its delay of %v expired", early, delay)
	}
	if s, ok := o.queue.stats(); ok && s.Expired != before.Expired+1 {
		o.violated.report("Stats", -1, "one delay expired, and Expired went from %d to %d", before.Expired, s.Expired)
	}
}

// tick is the default resolution of delays.
const tick = time.Millisecond

// pass steps a fake clock to just before the end of a delay, and then to the
// next tick.
func (o opening) pass(delay time.Duration) {
	o.fake.Step(delay - 1)
	if n := o.queue.Len(); n != 0 {
		o.violated.report("C19", -1, "1 ns before its delay of %v expires, an item is ready", delay)
	}
	o.fake.Step(1 + tick)
	if n := o.queue.Len(); n != 1 {
		o.violated.report("C19", -1, "%v after its delay of %v expired, an item is not ready", tick, delay)
	}
}

// limits checks that AddRateLimited uses the delay of the limiter, and that
// Forget resets the limiter.
func (o opening) limits() {
	if !o.features.CallersLimiter {
		return
	}
	for n := range 3 {
		o.requeued(n)
		o.delayed(opAddRateLimited, firstLimit<<n)
	}
	o.requeued(3)
	o.asked.forgets++
	o.queue.Forget(o.first)
	o.requeued(0)
}

func (o opening) requeued(times int) {
	if n := o.queue.NumRequeues(o.first); n != times {
		o.violated.report("C28", -1, "NumRequeues is %d for an item that was requeued %d times since it was forgotten", n, times)
	}
}

// cancels checks that an Add of a delayed item leaves its delay, or cancels it.
func (o opening) cancels() {
	switch {
	case o.plan.Cancel:
		o.add(opAddAfter, o.first, time.Hour)
		o.add(opAdd, o.first, 0)
		o.expect(1, 0, 0)
		o.end(o.take())
	case o.fake != nil:
		o.add(opAddAfter, o.first, longestDelay)
		o.add(opAdd, o.first, 0)
		o.expect(1, 1, 0)
		o.end(o.take())
		o.pass(longestDelay)
		o.end(o.take())
	}
	o.expect(0, 0, 0)
}
