package shard

import (
	"sync"
	"sync/atomic"
)

// A lockWord is a mutex for holds of about a hundred nanoseconds. With more
// goroutines than processors, a sync.Mutex soon hands over from one waiter to
// the next, and each hold costs a context switch: a convoy. Here, one goroutine
// parks at once, so that who has the lock goes on alone. Those that come while
// it is parked dwell for some microseconds and look again, and then park, too.
//
// The word says all but who parks: they wait for a token.
//
//	goroutine                           holder
//	  announce: word += parker            free: word -= held
//	  check: held? no → take it           check: parkers, and not waking?
//	  receive the token                     then set waking, and send the token
//	  clear waking, and check again
//
// No wake-up is lost, because both sides change and check one word. A holder
// that frees the lock after the announcement sees the parker. If it sends no
// token, because waking is set, a woken parker is about to check. That one takes
// the lock, or finds it held again, and whoever has it then sends the token.
//
// A goroutine that runs may be faster than one that was woken. One that was
// woken in vain too often sets fair: those that come later park at once, and the
// parkers take the lock in their order, until that one has had it.
type lockWord struct {
	atomic.Uint32
	_ uint32
}

const (
	held   = 1 << iota
	waking // there is a token, or its receiver has yet to check the lock
	fair
	oneParker // the parkers are counted in the bits from here on
)

const (
	looks     = 3  // how often a goroutine looks before it parks beside another
	tolerance = 16 // how often a parker is woken in vain before it sets fair
)

// lock locks the shard. Locks are leaves: a holder takes no other, except for
// that of the token, and calls no user code.
func (sh *shard) lock() {
	if !sh.mu.CompareAndSwap(0, held) {
		sh.lockSlowly()
	}
}

func (sh *shard) unlock() {
	if sh.mu.Add(^uint32(held-1)) != 0 {
		sh.wakeParker()
	}
}

func (sh *shard) tryLock() bool {
	w := sh.mu.Load()
	return w&(held|fair) == 0 && sh.mu.CompareAndSwap(w, w|held)
}

func (sh *shard) lockSlowly() {
	for i := 0; i < looks && sh.mu.Load() >= oneParker; i++ {
		if sh.tryLock() {
			return
		}
		dwell(i)
	}
	sh.park()
}

// dwell takes about five microseconds, and twice that the next time.
//
//go:noinline
func dwell(n int) {
	for i := range 1 << 14 << n {
		_ = i
	}
}

func (sh *shard) park() {
	sh.mu.Add(oneParker)
	unfair := false
	for woken := 0; !sh.takeParked(unfair); woken++ {
		if woken == tolerance {
			unfair = true
			sh.mu.Or(fair)
		}
		sh.token().receive()
		sh.mu.And(^uint32(waking))
	}
}

func (sh *shard) takeParked(unfair bool) bool {
	for {
		w := sh.mu.Load()
		if w&held != 0 {
			return false
		}
		next := (w | held) - oneParker
		if unfair {
			next &^= fair
		}
		if sh.mu.CompareAndSwap(w, next) {
			break
		}
	}
	if w := sh.mu.Load(); w < oneParker && w&waking != 0 && sh.token().tryReceive() {
		sh.mu.And(^uint32(waking)) // nobody is left to receive it
	}
	return true
}

func (sh *shard) wakeParker() {
	for w := sh.mu.Load(); w >= oneParker && w&(held|waking) == 0; w = sh.mu.Load() {
		if sh.mu.CompareAndSwap(w, w|waking) {
			sh.token().send()
			return
		}
	}
}

// A token is a semaphore. Unlike a channel, it may be made in one bubble of
// testing/synctest and used elsewhere.
type token struct {
	mu    sync.Mutex
	sent  sync.Cond
	there bool
}

func (t *token) receive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.there {
		t.sent.Wait()
	}
	t.there = false
}

func (t *token) tryReceive() (was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, t.there = t.there, false
	return was
}

func (t *token) send() {
	t.mu.Lock()
	t.there = true
	t.mu.Unlock()
	t.sent.Signal()
}

// token makes the tokens of a set at its first contention.
func (sh *shard) token() *token {
	all := sh.set.tokens.Load()
	if all == nil {
		made := make([]token, len(sh.set.shards.all))
		for i := range made {
			made[i].sent.L = &made[i].mu
		}
		if all = &made; !sh.set.tokens.CompareAndSwap(nil, all) {
			all = sh.set.tokens.Load()
		}
	}
	return &(*all)[sh.number]
}
