package timerwheel

import (
	"fmt"
	"math"
	"testing"
)

// timers is the set of operations that the benchmarks run on a wheel and on a
// heap.
type timers interface {
	schedule(id uint32, deadline uint64)
	cancel(id uint32)
	// expire advances to the next tick with work and fires what is due then.
	expire(fire func(id uint32, now uint64))
}

type wheelTimers struct{ *Wheel }

func (w wheelTimers) schedule(id uint32, deadline uint64) { w.Schedule(id, deadline) }
func (w wheelTimers) cancel(id uint32)                    { w.Cancel(id) }

func (w wheelTimers) expire(fire func(id uint32, now uint64)) {
	now, _ := w.Next()
	w.Advance(now, math.MaxInt, func(id uint32) { fire(id, now) })
}

// longestDelay is 17 minutes in ticks of a millisecond. Delays are uniformly
// distributed up to it, and ids are in random order.
const longestDelay = 1 << 20

// BenchmarkSchedule repeatedly files timers in an empty engine until it has as
// many as pending says.
func BenchmarkSchedule(b *testing.B) {
	perEngine(b, func(b *testing.B, pending int, open func() timers) {
		engine, random, filed := open(), random(1), 0
		for b.Loop() {
			if filed == pending {
				b.StopTimer()
				engine, filed = open(), 0
				b.StartTimer()
			}
			filed++
			engine.schedule(uint32(filed), 1+random.below(longestDelay))
		}
	})
}

// BenchmarkCancel repeatedly cancels the timers of an engine, in random order,
// until it is empty.
func BenchmarkCancel(b *testing.B) {
	perEngine(b, func(b *testing.B, pending int, open func() timers) {
		engine, left := open(), 0
		var order []uint32
		for b.Loop() {
			if left == 0 {
				b.StopTimer()
				left, order = pending, shuffled(pending, 6)
				fill(engine, pending)
				b.StartTimer()
			}
			left--
			engine.cancel(order[left])
		}
	})
}

// BenchmarkReschedule moves a random pending timer to another deadline.
func BenchmarkReschedule(b *testing.B) {
	perEngine(b, func(b *testing.B, pending int, open func() timers) {
		engine, random := open(), random(2)
		fill(engine, pending)
		for b.Loop() {
			engine.schedule(1+uint32(random.below(uint64(pending))), 1+random.below(longestDelay))
		}
	})
}

// BenchmarkExpire lets time pass. One operation is the expiry of one timer,
// with all of its sorting, and its rescheduling.
func BenchmarkExpire(b *testing.B) {
	perEngine(b, func(b *testing.B, pending int, open func() timers) {
		engine, random, expired := open(), random(3), 0
		fill(engine, pending)
		again := func(id uint32, now uint64) {
			expired++
			engine.schedule(id, now+1+random.below(longestDelay))
		}
		b.ResetTimer()
		for expired < b.N {
			engine.expire(again)
		}
	})
}

// perEngine runs a benchmark with each engine and number of timers.
func perEngine(b *testing.B, run func(b *testing.B, pending int, open func() timers)) {
	for _, pending := range []int{1_000, 100_000, 1_000_000} {
		engines := []struct {
			name string
			open func() timers
		}{
			{"wheel", func() timers { return wheelTimers{New(0)} }},
			{"heap", func() timers { return newHeapTimers(pending) }},
		}
		for _, engine := range engines {
			b.Run(fmt.Sprintf("engine=%s/pending=%d", engine.name, pending), func(b *testing.B) {
				b.ReportAllocs()
				run(b, pending, engine.open)
			})
		}
	}
}

func fill(engine timers, pending int) {
	random := random(4)
	for _, id := range shuffled(pending, 5) {
		engine.schedule(id, 1+random.below(longestDelay))
	}
}

// shuffled returns the ids 1 to n in random order.
func shuffled(n int, random random) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		j := random.below(uint64(i + 1))
		ids[i] = ids[j]
		ids[j] = uint32(i + 1)
	}
	return ids
}

// random is a generator that is cheap compared with what is measured:
// xorshift64*, of S. Vigna, "An experimental exploration of Marsaglia's
// xorshift generators, scrambled" (2016).
type random uint64

// below returns a number from 0 to n-1, for n of up to 32 bits.
func (r *random) below(n uint64) uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return x * 2685821657736338717 >> 32 * n >> 32
}
