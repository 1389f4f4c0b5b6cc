package shard

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/shard/internal/ticks"
)

// A gate limits the rate at which a set hands out items, and stops that while
// the set is paused. A Get that finds something ready takes a token, and gives
// it back if another consumer was faster. If there is none it parks, and the
// driver opens the gate and wakes a consumer at the moment of the next token.
//
// The race to lose would be this: a consumer finds no token; the driver opens
// the gate, and finds no parked consumer; the consumer parks, beside a ready
// item and a token. It cannot happen: the consumer stores opens, announces
// itself, and checks opens again. The driver clears opens, as Resume clears
// paused, and then checks for parked consumers. So one sees what the other did.
type gate struct {
	paused   atomic.Bool
	since    atomic.Uint64              // when the last pause began
	used     atomic.Bool                // the set was ever paused, or had a rate
	bucket   atomic.Pointer[gateBucket] // nil while there is no rate
	opens    atomic.Uint64              // the tick of the next token, or never while there is one
	last     atomic.Uint64              // the last reading of the clock by a take, for takes that must not read it
	entered  atomic.Int32               // takes that may have spent a token, and have yet to take their items
	cares    atomic.Uint32              // what takes have to do beside taking
	changing sync.Mutex                 // held while the rate or the pause is changed; a leaf
	time     *ticks.Base
	opened   func() // wakes a consumer if it would find something
}

type gateBucket struct {
	rate line.Rate
	// full is replaced once another bucket has taken over the tokens. The
	// address of that one is stored at once, so whoever reads replaced tries
	// again.
	full atomic.Uint64
}

const replaced = math.MaxUint64 // no moment: see mostInterval

func (g *gate) closed() bool { return g.paused.Load() || g.opens.Load() != never }

// A care is something that a take has to do beside taking. While there is none,
// a take reads one word, and no clock.
const (
	caresForAges       = 1 << iota // the set keeps ages
	caresForGroupRates             // a group was ever given a rate
	caresForGate                   // the set is paused or has a rate
)

func (g *gate) readForTake() (now uint64) {
	if g.cares.Load()&caresForGroupRates == 0 && g.bucket.Load() == nil {
		return 0
	}
	now = g.time.Nanoseconds()
	g.last.Store(now)
	return now
}

// readForRate reads the clock for a caller that has taken items already: if the
// clock panics, it returns an earlier reading. It never returns 0.
func (g *gate) readForRate() (now uint64) {
	now = max(1, g.last.Load())
	defer func() { _ = recover() }()
	return max(1, g.readForTake())
}

func (g *gate) enter(now uint64) (ok bool) {
	if g.paused.Load() {
		return false
	}
	for {
		b := g.bucket.Load()
		if b == nil {
			return true
		}
		full := b.full.Load()
		switch {
		case full == replaced:
			runtime.Gosched()
		case b.rate.Opens(full) > now:
			if g.closeIfEmpty(b, now) {
				return false
			}
		case b.full.CompareAndSwap(full, b.rate.Spend(full, now, g.time.Tick)):
			g.closeIfEmpty(b, now)
			return true
		}
	}
}

// closeIfEmpty closes the gate, and reports it, if the bucket is empty. The
// caller then calls afterGate. If another goroutine gives a token back or
// changes the rate meanwhile, it opens the gate afterwards. If we close the
// gate later still, we find out, and reopen it.
func (g *gate) closeIfEmpty(b *gateBucket, now uint64) bool {
	for {
		full := b.full.Load()
		opens := b.rate.Opens(full)
		if opens <= now || full == replaced {
			return false
		}
		g.opens.Store(g.time.TickAt(opens))
		if b.full.Load() == full && g.bucket.Load() == b {
			return true
		}
		g.reopen()
	}
}

func (g *gate) giveBack() {
	for b := g.bucket.Load(); b != nil; b = g.bucket.Load() {
		full := b.full.Load()
		if full == replaced {
			runtime.Gosched()
		} else if b.full.CompareAndSwap(full, b.rate.GiveBack(full)) {
			g.reopen()
			return
		}
	}
}

// reopen opens the gate for consumers that parked because it was closed.
func (g *gate) reopen() {
	g.opens.Store(never)
	g.opened()
}

// setRate converts the tokens when nobody can take any from the old bucket.
func (g *gate) setRate(to line.Rate, now uint64) {
	var next *gateBucket
	if to.Limits() {
		next = &gateBucket{rate: to}
	}
	if b := g.bucket.Load(); b != nil {
		full := b.full.Swap(replaced)
		if next != nil {
			next.full.Store(b.rate.Convert(full, now, to))
		}
	}
	g.bucket.Store(next)
}

func (g *gate) change(by func()) {
	g.changing.Lock()
	defer g.changing.Unlock()
	by()
	g.note()
}

func (g *gate) note() {
	if g.paused.Load() || g.bucket.Load() != nil {
		g.used.Store(true)
		g.cares.Or(caresForGate)
	} else {
		g.cares.And(^uint32(caresForGate))
	}
}

func (g *gate) init(time *ticks.Base, config *Settings, opened func()) {
	g.time, g.opened = time, opened
	g.opens.Store(never)
	if config.Ages {
		g.cares.Or(caresForAges)
	}
	g.setRate(line.RateOf(config.Rate), 0)
	g.note()
}

// shutUntil reports whether the gate lets nothing pass until a moment.
func (g *gate) shutUntil(moment uint64) bool {
	if g.paused.Load() {
		return true
	}
	b := g.bucket.Load()
	if b == nil {
		return false
	}
	full := b.full.Load()
	return full != replaced && b.rate.Opens(full) > moment
}
