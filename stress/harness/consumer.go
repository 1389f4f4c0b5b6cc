package harness

import "runtime"

// consumer takes ready keys until the shutdown.
type consumer struct {
	*actor
	leaver
}

// run is the loop of a worker. If the worker dies, another goroutine replaces
// it, with the same records.
func (c *consumer) run() {
	through := false
	defer func() {
		onPurpose(recover())
		if through {
			c.consumers.Done()
		} else {
			go c.run()
		}
	}()
	for c.next() || c.outlasts(c.round) {
	}
	through = true
}

// next takes one key or several, if there are any before the shutdown.
func (c *consumer) next() bool {
	switch {
	case c.has(Batches) && c.chance(3):
		return c.nextSome()
	case c.has(Loops) && c.chance(3):
		return c.loop()
	case c.has(Claims) && c.chance(2):
		return c.nextClaims()
	}
	key, ok := c.get()
	if key >= 0 {
		c.process(key)
	}
	return ok
}

func (c *consumer) process(key int) {
	defer c.finish(key) // also if the work panics or exits
	c.work(key)
}

func (c *consumer) work(key int) {
	if c.ledger == nil || classOf(key) == free {
		c.requeue(key)
	}
	if c.has(Claims) && c.chance(2) {
		c.endBeside(key)
	}
	if c.chance(50) {
		runtime.Gosched()
	}
	if c.has(Ages) && c.ledger != nil && !c.has(Workers) && !c.ledger.misused(key) && c.chance(1000) {
		c.keepUntilStuck(key)
	}
	if c.has(Groups) && c.ledger != nil && c.chance(500) {
		c.keepForAReading()
	}
	c.gate.pass()
	if c.has(Deaths) && c.mayDie(key) && c.chance(500) {
		if c.chance(2) {
			panic(workerPanics)
		}
		runtime.Goexit()
	}
}

// requeue may add the key that the worker holds, or cancel its adds.
func (c *consumer) requeue(key int) {
	if c.has(Readd) && c.chance(10) {
		for range 1 + c.roll(3) {
			c.add(opAdd, key, 0)
		}
	}
	if c.has(Capacity) && c.chance(20) {
		c.putHeld(key)
	}
	if c.has(Batches) && c.chance(50) {
		c.addBatch([]int{key, key})
	}
	if c.has(Policies) && c.chance(20) {
		c.delays.unlessEnded(func() { c.addWith(key, c.anyOptions()) })
	}
	if c.has(Cancels) && c.chance(20) {
		c.cancelHeld(key)
	}
}

func (c *consumer) finish(key int) {
	if c.ledger == nil {
		c.done(key)
		return
	}
	c.endInLedger(key)
	c.done(key)
	if classOf(key) == ordered {
		if c.has(Misuse) && c.chance(5) {
			c.done(key) // a second time
		}
	}
	c.ranInLedger(key)
}

// endInLedger is called before a Done, and ranInLedger after it.
func (c *consumer) endInLedger(key int) {
	if c.ledger != nil {
		c.ledger.end(key)
	}
}

func (c *consumer) ranInLedger(key int) {
	if c.ledger != nil && classOf(key) != free {
		c.ledger.keys[key].hasRun()
	}
}
