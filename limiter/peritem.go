package limiter

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"
	"github.com/shardq/shardq/internal/itemmap"
)

// A curve returns the delay of an item that has failed that many times before.
// It is called with a lock held, so the random number, from 0 to 1, is drawn
// beforehand.
type curve func(failures int, random float64) time.Duration

type perItem[T comparable] struct {
	curve  curve
	random func() float64 // nil if the curve uses no random numbers
	idle   idleness
	// all is nil until the first failure, so that an unused limiter is small.
	all     atomic.Pointer[histories[T]]
	sweepAt atomic.Int64 // the instant of the next sweep
	_       [64]byte     // every call reads the fields above
	// count is at least the number of entries: it goes up before an entry goes
	// in, and down after one has gone. So a caller that reads 0 need not hash
	// its item. An entry that goes in meanwhile is of a concurrent When.
	count atomic.Int64
}

type history struct {
	ends     time.Duration // when it expires, if histories expire
	failures int           // at most MaxInt32, on every platform
}

type histories[T comparable] = xsync.MapOf[T, history]

// allocate makes the map, unless another goroutine has just done so.
func (p *perItem[T]) allocate() *histories[T] {
	p.all.CompareAndSwap(nil, itemmap.New[T, history]())
	return p.all.Load()
}

func (p *perItem[T]) When(item T) (delay time.Duration) {
	var random float64
	if p.random != nil {
		random = unit(p.random())
	}
	if !findable(item) {
		return p.curve(0, random)
	}
	all, now := p.all.Load(), p.idle.now()
	if all == nil {
		all = p.allocate()
	}
	all.Compute(item, func(h history, known bool) (history, bool) {
		if p.idle.over(now, h.ends) {
			h.failures = 0
		}
		delay = p.curve(h.failures, random)
		ends := p.idle.end(now, delay)
		if known {
			ends = max(ends, h.ends) // never shorten an earlier delay
		} else {
			p.count.Add(1)
		}
		return history{ends, min(h.failures, math.MaxInt32-1) + 1}, false
	})
	p.sweep(all, now)
	return delay
}

func (p *perItem[T]) Forget(item T) {
	if !findable(item) || p.count.Load() == 0 {
		return
	}
	all := p.all.Load()
	// Without the look, each success would lock a bucket of the map. A failure
	// that the look misses is concurrent, and counts as later.
	if _, known := all.Load(item); known {
		if _, known = all.LoadAndDelete(item); known {
			p.count.Add(-1)
		}
	}
	if p.idle.expires() && rand.Uint32()%16 == 0 { // reading the clock is dear
		p.sweep(all, p.idle.now())
	}
}

func (p *perItem[T]) NumRequeues(item T) int {
	if !findable(item) || p.count.Load() == 0 {
		return 0
	}
	h, known := p.all.Load().Load(item)
	if !known || p.idle.over(p.idle.now(), h.ends) {
		return 0
	}
	return h.failures
}

// sweep runs once per ForgetAfter, and at most once a second.
func (p *perItem[T]) sweep(all *histories[T], now time.Duration) {
	at, next := p.sweepAt.Load(), sum(now, max(p.idle.after, time.Second))
	if !p.idle.expires() || now < time.Duration(at) || !p.sweepAt.CompareAndSwap(at, int64(next)) {
		return
	}
	for item, h := range all.Range {
		if p.idle.over(now, h.ends) {
			p.removeExpired(all, item, now)
		}
	}
}

func (p *perItem[T]) removeExpired(all *histories[T], item T, now time.Duration) {
	expired := false
	all.Compute(item, func(h history, known bool) (history, bool) {
		expired = known && p.idle.over(now, h.ends) // it may have failed again
		return h, expired || !known
	})
	if expired {
		p.count.Add(-1)
	}
}

// findable reports whether a map finds the item again: not if it has a NaN.
func findable[T comparable](item T) bool { return item == item }
