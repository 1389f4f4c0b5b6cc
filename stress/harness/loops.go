package harness

import (
	"context"
	"time"
)

// A loop over Items ends the processing of each key when its turn ends (C36). A turn is
// entered in the books as a Get and a Done, whose return is seen when the next turn begins
// or the loop is over.

const inALoop = " in a loop"

// A turns is a consumer's loop over Items.
type turns struct {
	*consumer
	key  int   // whose turn it is, or was; -1: nobody's
	call int64 // the stamp before the Get that is under way, or before the Done
}

// loop ranges over Items, until its context ends or it breaks off.
func (c *consumer) loop() (open bool) {
	ctx, cancel := context.WithTimeout(c.context, time.Duration(c.roll(2000))*time.Microsecond)
	defer cancel()
	t := turns{consumer: c, key: -1, call: now()}
	defer func() { open = t.after(recover()) || open }()
	brokenOff := false
	c.readOrder()
	for key := range c.queue.items(ctx) {
		t.begin(key)
		t.turn()
		if brokenOff = c.chance(8); brokenOff {
			break
		}
	}
	if brokenOff || ctx.Err() != nil {
		return true
	}
	if !c.queue.ShuttingDown() {
		c.violated.report("C36", -1, "a loop over Items ended, and neither its context nor the queue had come to an end")
		return true
	}
	c.record(event{operation: opGetNothing, key: -1, call: t.call, end: now(), way: inALoop})
	return false
}

// begin enters that the last turn is over, and that another one begins.
func (t *turns) begin(key int) {
	t.over(true)
	t.operations++
	if !t.strange(key) {
		t.key = key
		t.took(event{operation: opGet, call: t.call, end: now(), way: inALoop}, key)
	}
}

// turn does the work. Its end is the call of the Done.
func (t *turns) turn() {
	defer func() {
		if t.key >= 0 {
			t.endInLedger(t.key)
		}
		t.readOrder()
		t.call = now()
	}()
	if t.key >= 0 {
		t.work(t.key)
	}
}

// over enters the Done of the last turn, if there was one.
func (t *turns) over(done bool) {
	if t.key < 0 {
		return
	}
	t.sign()
	t.record(event{operation: opDone, key: int32(t.key), call: t.call, end: now(), unsure: !done, way: inALoop})
	if done {
		t.dones++
		t.cameInLedger(t.key)
		t.key = -1
	}
}

// after is called at the end of the loop, with what it ended with. If the hash function
// panicked in the Done, the Done has to be said again. After that, and after a panic of the hook for misuse
// (a Done of somebody else's may have ended the turn), the queue is not at its end.
func (t *turns) after(recovered any) (goesOn bool) {
	panicked := onPurpose(recovered)
	t.over(panicked != hashLost)
	if t.key >= 0 {
		t.done(t.key)
		t.cameInLedger(t.key)
	}
	if panicked == workerLost {
		panic(panicked)
	}
	return recovered != nil
}
