package candidates

import (
	"sync"
	"sync/atomic"
)

// A parking is where consumers are parked while nothing is ready. Its hasWork
// functions report whether there is a reason not to park.
type parking interface {
	// wake is called after an item was made ready.
	wake()
	// sleep blocks until there may be work, and reports whether found must be
	// called after the next attempt to take an item.
	sleep(hasWork func() bool) (searcher bool)
	found(hasWork func() bool)
	// wakeAll is called once, when hasWork has become true forever.
	wakeAll()
	// sleeps returns how often a consumer was parked.
	sleeps() int64
}

type sleepCounter struct{ count atomic.Int64 }

func (c *sleepCounter) sleeps() int64 { return c.count.Load() }

// oneToken has one wake token for all consumers. Only the consumer that has it
// searches for work. Package shard does this.
type oneToken struct {
	parked    atomic.Int32
	searching atomic.Bool
	token     chan struct{}
	sleepCounter
}

func newOneToken() parking { return &oneToken{token: make(chan struct{}, 1)} }

func (p *oneToken) wake() {
	if p.parked.Load() > 0 && !p.searching.Load() && p.searching.CompareAndSwap(false, true) {
		p.token <- struct{}{}
	}
}

func (p *oneToken) sleep(hasWork func() bool) (searcher bool) {
	p.parked.Add(1)
	defer p.parked.Add(-1)
	if hasWork() {
		return false
	}
	p.count.Add(1)
	<-p.token
	return true
}

func (p *oneToken) found(hasWork func() bool) {
	p.searching.Store(false)
	if hasWork() {
		p.wake()
	}
}

func (p *oneToken) wakeAll() { p.wake() } // each consumer wakes the next

// tokenEach wakes a parked consumer for every item that becomes ready.
type tokenEach struct {
	parked atomic.Int32
	tokens chan struct{}
	sleepCounter
}

func newTokenEach() parking { return &tokenEach{tokens: make(chan struct{}, 1024)} }

// claim subtracts one parked consumer from the count, which must then get a
// token.
func (p *tokenEach) claim() bool {
	for {
		parked := p.parked.Load()
		if parked == 0 {
			return false
		}
		if p.parked.CompareAndSwap(parked, parked-1) {
			return true
		}
	}
}

func (p *tokenEach) wake() {
	if p.claim() {
		p.tokens <- struct{}{}
	}
}

func (p *tokenEach) sleep(hasWork func() bool) (searcher bool) {
	p.parked.Add(1)
	if hasWork() && p.claim() {
		return false // it has subtracted itself
	}
	p.count.Add(1)
	<-p.tokens
	return false
}

func (p *tokenEach) found(func() bool) {}

func (p *tokenEach) wakeAll() {
	for p.claim() {
		p.tokens <- struct{}{}
	}
}

// condition is client-go's way: a condition variable, behind a count that
// avoids the signal while no consumer is parked.
type condition struct {
	parked  atomic.Int32
	mu      sync.Mutex
	changed sync.Cond
	sleepCounter
}

func newCondition() parking {
	p := new(condition)
	p.changed.L = &p.mu
	return p
}

func (p *condition) wake() {
	if p.parked.Load() > 0 {
		p.mu.Lock()
		p.changed.Signal()
		p.mu.Unlock()
	}
}

func (p *condition) sleep(hasWork func() bool) (searcher bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parked.Add(1)
	defer p.parked.Add(-1)
	if !hasWork() {
		p.count.Add(1)
		p.changed.Wait()
	}
	return false
}

func (p *condition) found(func() bool) {}

func (p *condition) wakeAll() {
	p.mu.Lock()
	p.changed.Broadcast()
	p.mu.Unlock()
}
