package candidates

import (
	"sync"
	"sync/atomic"
)

// A parking is where consumers sleep while nothing is ready. Its look functions
// report whether there is reason to stay awake.
type parking interface {
	// wake is called after something was made ready.
	wake()
	// sleep blocks until there may be something to do, and reports whether
	// found is to be called after the next attempt to take an item.
	sleep(look func() bool) (searcher bool)
	found(look func() bool)
	// wakeAll is called once, when look has become true for good.
	wakeAll()
	// sleeps returns how often a consumer slept.
	sleeps() int64
}

type sleepCounter struct{ count atomic.Int64 }

func (c *sleepCounter) sleeps() int64 { return c.count.Load() }

// oneToken is package shard's way: one token for all, and whoever holds it is the
// only one who looks for work.
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

func (p *oneToken) sleep(look func() bool) (searcher bool) {
	p.parked.Add(1)
	defer p.parked.Add(-1)
	if look() {
		return false
	}
	p.count.Add(1)
	<-p.token
	return true
}

func (p *oneToken) found(look func() bool) {
	p.searching.Store(false)
	if look() {
		p.wake()
	}
}

func (p *oneToken) wakeAll() { p.wake() } // each wakes the next

// tokenEach wakes a sleeper for every item that becomes ready.
type tokenEach struct {
	parked atomic.Int32
	tokens chan struct{}
	sleepCounter
}

func newTokenEach() parking { return &tokenEach{tokens: make(chan struct{}, 1024)} }

// claim takes one of the sleepers off the count: a token has to come for it.
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

func (p *tokenEach) sleep(look func() bool) (searcher bool) {
	p.parked.Add(1)
	if look() && p.claim() {
		return false // took itself off
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

// condition is client-go's way, a condition variable, behind a count that spares
// the signal while nobody sleeps.
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

func (p *condition) sleep(look func() bool) (searcher bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parked.Add(1)
	defer p.parked.Add(-1)
	if !look() {
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
