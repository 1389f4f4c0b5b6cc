package harness

import "runtime"

// consumer takes what is ready, until shutdown.
type consumer struct {
	*actor
}

// run is a worker's life. One that dies is replaced by another one, in a goroutine of
// its own, that goes on with its books.
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
	for c.next() {
	}
	through = true
}

// next takes one key, if there is any before the shutdown.
func (c *consumer) next() bool {
	key, ok := c.get()
	if key >= 0 {
		c.process(key)
	}
	return ok
}

func (c *consumer) process(key int) {
	defer c.finish(key) // also if the work panics, or ends the goroutine
	if c.has(Readd) && c.chance(10) && (c.ledger == nil || classOf(key) == free) {
		for range 1 + c.roll(3) {
			c.add(opAdd, key, 0)
		}
	}
	if c.chance(50) {
		runtime.Gosched()
	}
	c.gate.pass()
	if c.has(Deaths) && c.chance(500) {
		if c.chance(2) {
			panic(workerLost)
		}
		runtime.Goexit()
	}
}

func (c *consumer) finish(key int) {
	if c.ledger == nil {
		c.done(key)
		return
	}
	c.ledger.end(key)
	c.done(key)
	if classOf(key) == ordered {
		if c.has(Misuse) && c.chance(5) {
			c.done(key) // a second time
		}
	}
	if classOf(key) != free {
		c.ledger.keys[key].came()
	}
}
