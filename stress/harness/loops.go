package harness

import (
	"context"
	"time"
)

// A loop over Items calls Done for each key when its turn ends (C36). A turn is
// recorded as a Get and a Done. The Done has returned when the next turn
// begins, or the loop is over.

const inALoop = " in a loop"

// A turns is a consumer's loop over Items.
type turns struct {
	*consumer
	key  int   // the key of the current or last turn; -1: none
	call int64 // the stamp before the current Get, or before the Done
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
		c.violated.report("C36", -1, "a loop over Items ended, and neither its context nor the queue had ended")
		return true
	}
	c.recordNothing(event{operation: opGetNothing, key: -1, call: t.call, end: now(), way: inALoop})
	return false
}

// begin records that the last turn is over, and another one begins.
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

// over records the Done of the last turn, if there was one.
func (t *turns) over(done bool) {
	if t.key < 0 {
		return
	}
	t.sign()
	t.record(event{operation: opDone, key: int32(t.key), call: t.call, end: now(), unsure: !done, way: inALoop})
	if done {
		t.dones++
		t.ranInLedger(t.key)
		t.key = -1
	}
}

// after is called at the end of the loop with the recovered value. If the hash
// function panicked in the Done, after calls Done again. After that, and after
// a panic of the misuse hook, the queue goes on. (A surplus Done of another
// actor may have ended the turn.)
func (t *turns) after(recovered any) (goesOn bool) {
	panicked := onPurpose(recovered)
	t.over(panicked != hashPanics)
	if t.key >= 0 {
		t.done(t.key)
		t.ranInLedger(t.key)
	}
	if panicked == workerPanics {
		panic(panicked)
	}
	return recovered != nil
}
