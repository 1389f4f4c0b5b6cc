package timerwheel

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// testIDs are few, so that they are often recycled, and lie on both sides of
// the edges of chunks.
var testIDs = []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 500, 510, 511, 512, 513, 1023, 1024, 1025, 3000}

// A crowd of further timers makes a ring too long for Next to search.
const (
	firstOfCrowd = 100
	crowd        = 40
)

// TestWheelAgainstModel runs random operations on the wheel and the model.
func TestWheelAgainstModel(t *testing.T) { rapid.Check(t, againstModel) }

// FuzzWheel is the same with inputs of the fuzzer, which begins with programs
// of some length.
func FuzzWheel(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for range 8 {
		seed := make([]byte, 8192)
		_, _ = random.Read(seed)
		f.Add(seed)
	}
	f.Fuzz(rapid.MakeFuzz(againstModel))
}

func againstModel(t *rapid.T) {
	c := newChecked(t, tick(0).Draw(t, "start"))
	for range 4 { // Repeat alone does fewer steps
		t.Repeat(actions(c))
	}
	c.arrive(math.MaxUint64, 64)
	if len(c.timers) > 0 {
		t.Fatalf("at the end of time, %d timers are left", len(c.timers))
	}
	c.check()
}

func actions(c *checked) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":              func(*rapid.T) { c.check() },
		"schedule":      func(t *rapid.T) { c.schedule(id(t), deadline(t, c)) },
		"schedule tie":  func(t *rapid.T) { c.schedule(id(t), anyDeadline(t, c)) },
		"cancel":        func(t *rapid.T) { c.cancel(id(t)) },
		"ties":          func(t *rapid.T) { scheduleTies(t, c) },
		"crowd":         func(t *rapid.T) { scheduleCrowd(t, c) },
		"cancel many":   func(t *rapid.T) { cancelMany(t, c) },
		"step":          func(t *rapid.T) { c.advance(target(t, c), rapid.IntRange(-1, 4).Draw(t, "limit")) },
		"advance":       func(t *rapid.T) { c.advance(target(t, c), rapid.IntRange(1, 200).Draw(t, "limit")) },
		"arrive":        func(t *rapid.T) { c.arrive(target(t, c), rapid.IntRange(1, 8).Draw(t, "limit")) },
		"advance, busy": func(t *rapid.T) { advanceBusy(t, c) },
		"follow Next":   func(t *rapid.T) { followNext(t, c) },
		"rewind":        func(t *rapid.T) { c.rewind(tick(c.wheel.Now()).Draw(t, "rewind")) },
		"rewind a bit":  func(t *rapid.T) { rewindABit(t, c) },
	}
}

func id(t *rapid.T) uint32 { return rapid.SampledFrom(testIDs).Draw(t, "id") }

// tick draws from the whole range, with extra weight on the edges of the slots
// of each level and on the ends of the range.
func tick(near uint64) *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return rapid.Uint64().Draw(t, "tick")
		case 1:
			return rapid.SampledFrom([]uint64{0, 1, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64}).Draw(t, "end")
		case 2:
			return edge(t)
		case 3:
			return rapid.Uint64Range(0, edge(t)).Draw(t, "tick")
		case 4:
			return near + edge(t) // may wrap around
		default:
			return near + rapid.Uint64Range(0, 130).Draw(t, "after")
		}
	})
}

// edge draws a multiple of 64^n, or a neighbor of one.
func edge(t *rapid.T) uint64 {
	span := uint64(1) << (levelBits * rapid.IntRange(0, levels-1).Draw(t, "level"))
	return span*rapid.Uint64Range(1, slotsPerLevel).Draw(t, "slots") + rapid.Uint64Range(0, 2).Draw(t, "off") - 1
}

func deadline(t *rapid.T, c *checked) uint64 { return tick(c.wheel.Now()).Draw(t, "deadline") }

// anyDeadline draws the deadline of a filed timer, or a neighbor of it.
func anyDeadline(t *rapid.T, c *checked) uint64 {
	timer, filed := c.timers[id(t)]
	if !filed {
		return deadline(t, c)
	}
	return timer.deadline + rapid.SampledFrom([]uint64{0, 0, 0, 1, math.MaxUint64}).Draw(t, "off")
}

func target(t *rapid.T, c *checked) uint64 {
	if rapid.Bool().Draw(t, "to a deadline") {
		return anyDeadline(t, c)
	}
	return deadline(t, c)
}

// scheduleTies files timers under one deadline, and cancels one of them.
func scheduleTies(t *rapid.T, c *checked) {
	together := deadline(t, c)
	for _, id := range testIDs[:4] {
		c.cancel(id)
		c.schedule(id, together)
	}
	c.cancel(testIDs[rapid.IntRange(0, 4).Draw(t, "one")])
}

func scheduleCrowd(t *rapid.T, c *checked) {
	around, spread := deadline(t, c), rapid.Uint64Range(0, 100).Draw(t, "spread")
	for i := range uint32(crowd) {
		c.schedule(firstOfCrowd+i, around+spread*uint64(i*7%crowd)/crowd)
	}
}

func cancelMany(t *rapid.T, c *checked) {
	for i := range uint32(crowd) {
		c.cancel(firstOfCrowd + i)
	}
	for _, id := range testIDs[rapid.IntRange(0, len(testIDs)).Draw(t, "from"):] {
		c.cancel(id)
	}
}

// advanceBusy advances. Each timer that fires schedules or cancels another
// timer, or itself.
func advanceBusy(t *rapid.T, c *checked) {
	c.onFire = func(fired uint32) {
		switch rapid.IntRange(0, 3).Draw(t, "on fire") {
		case 0:
			c.schedule(fired, deadline(t, c))
		case 1:
			c.schedule(id(t), anyDeadline(t, c))
		case 2:
			c.cancel(id(t))
		}
	}
	c.advance(target(t, c), rapid.IntRange(1, 100).Draw(t, "limit"))
	c.onFire = nil
}

// followNext does what a driver does that sleeps until Next.
func followNext(t *rapid.T, c *checked) {
	if next, ok := c.wheel.Next(); ok {
		c.advance(next, rapid.IntRange(1, 100).Draw(t, "limit"))
	}
}

func rewindABit(t *rapid.T, c *checked) {
	now := c.wheel.Now()
	c.rewind(now - min(now, rapid.Uint64Range(0, 200).Draw(t, "back")))
}
