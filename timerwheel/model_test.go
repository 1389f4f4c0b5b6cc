package timerwheel

import (
	"math"
	"slices"

	"github.com/shardq/shardq/internal/chunked"
)

// checked is a wheel and a naive model of it, a map that is searched in full.
// Each operation runs on both, and the test fails at the first difference.
type checked struct {
	failer
	wheel  *Wheel
	timers map[uint32]modelTimer
	// filings counts the deadlines that Schedule set, for the order of ties.
	filings int
	// unfinished is true if an Advance stopped before it arrived, so that due
	// timers may still be filed.
	unfinished bool
	// onFire, if not nil, is called for each timer that fires.
	onFire func(id uint32)
}

type modelTimer struct {
	deadline uint64
	// filing numbers the call that set the deadline.
	filing int
	// moved, midway and shuffled are the exceptions from the order of ties. The
	// timer was moved to its tick from another, was filed while a slot was
	// being sorted, or was filed when a Rewind interrupted the sorting of a
	// slot.
	moved, midway, shuffled bool
}

// precedes reports whether timer a must fire before b of the same tick.
func (a modelTimer) precedes(b modelTimer) bool {
	return a.filing < b.filing && !b.moved && !b.midway && !(a.shuffled && b.shuffled)
}

func newChecked(t failer, now uint64) *checked {
	return &checked{failer: t, wheel: New(now), timers: map[uint32]modelTimer{}}
}

func (c *checked) schedule(id uint32, deadline uint64) {
	c.Helper()
	before, wasFiled := c.timers[id]
	want := deadline > c.wheel.Now()
	if got := c.wheel.Schedule(id, deadline); got != want {
		c.Fatalf("Schedule(%d, %d) at %d = %v", id, deadline, c.wheel.Now(), got)
	}
	switch {
	case !want:
		delete(c.timers, id)
	case !wasFiled || before.deadline != deadline:
		c.filings++
		c.timers[id] = modelTimer{deadline: deadline, filing: c.filings, moved: wasFiled, midway: c.wheel.cascading != 0}
	}
}

func (c *checked) cancel(id uint32) {
	c.Helper()
	_, want := c.timers[id]
	if got := c.wheel.Cancel(id); got != want {
		c.Fatalf("Cancel(%d) = %v", id, got)
	}
	delete(c.timers, id)
}

func (c *checked) rewind(now uint64) {
	c.Helper()
	want := min(now, c.wheel.Now())
	if c.wheel.cascading != 0 && want < c.wheel.Now() {
		for id, timer := range c.timers {
			timer.shuffled = true
			c.timers[id] = timer
		}
	}
	if want < c.wheel.Now() {
		c.unfinished = false // due timers are due no longer
	}
	c.wheel.Rewind(now)
	if got := c.wheel.Now(); got != want {
		c.Fatalf("Rewind(%d) went to %d, not %d", now, got, want)
	}
}

// advance calls Advance once.
func (c *checked) advance(now uint64, limit int) (arrived bool) {
	c.Helper()
	before, calls := c.wheel.Now(), 0
	arrived = c.wheel.Advance(now, limit, func(id uint32) {
		calls++
		c.fired(id, now)
	})
	if calls > max(limit, 0) {
		c.Fatalf("Advance with limit %d fired %d timers", limit, calls)
	}
	if now < before {
		if got := c.wheel.Now(); got != before || calls > 0 {
			c.Fatalf("Advance to the past went from %d to %d and fired %d timers", before, got, calls)
		}
		return arrived
	}
	c.unfinished = !arrived
	if got := c.wheel.Now(); got < before || got > now || arrived && got != now {
		c.Fatalf("Advance(%d) from %d to %d, arrived = %v", now, before, got, arrived)
	}
	return arrived
}

func (c *checked) fired(id uint32, now uint64) {
	c.Helper()
	timer, filed := c.timers[id]
	switch {
	case !filed:
		c.Fatalf("timer %d fired, but it is not filed", id)
	case timer.deadline > now:
		c.Fatalf("timer %d, due at %d, fired at %d", id, timer.deadline, now)
	case timer.deadline != c.wheel.Now():
		c.Fatalf("timer %d, due at %d, fired while Now is %d", id, timer.deadline, c.wheel.Now())
	}
	if _, filed := c.wheel.Deadline(id); filed {
		c.Fatalf("timer %d is still filed while it fires", id)
	}
	delete(c.timers, id)
	c.firedInOrder(id, timer)
	if c.onFire != nil {
		c.onFire(id)
	}
}

func (c *checked) firedInOrder(id uint32, timer modelTimer) {
	c.Helper()
	for other, left := range c.timers {
		if left.deadline < timer.deadline {
			c.Fatalf("timer %d, due at %d, fired before timer %d, due at %d", id, timer.deadline, other, left.deadline)
		}
		if left.deadline == timer.deadline && left.precedes(timer) {
			c.Fatalf("timer %d fired before timer %d, which had deadline %d first", id, other, left.deadline)
		}
	}
}

// arrive advances to now in calls of limit steps. It fails if they take more
// steps than sorting each timer through all levels, firing it, and opening each
// of its slots.
func (c *checked) arrive(now uint64, limit int) {
	c.Helper()
	worst := len(c.timers)*(2*levels+1) + 1
	for steps := 0; !c.advance(now, limit); steps += limit {
		c.check()
		if steps > worst {
			c.Fatalf("%d steps did not lead from %d to %d", steps, c.wheel.Now(), now)
		}
	}
}

// check compares all getters of the wheel with the model.
func (c *checked) check() {
	c.Helper()
	if c.wheel.Len() != len(c.timers) {
		c.Fatalf("Len is %d, not %d", c.wheel.Len(), len(c.timers))
	}
	for id, timer := range c.timers {
		if deadline, filed := c.wheel.Deadline(id); !filed || deadline != timer.deadline {
			c.Fatalf("Deadline(%d) = %d, %v, not %d", id, deadline, filed, timer.deadline)
		}
		if timer.deadline <= c.wheel.Now() && !c.unfinished {
			c.Fatalf("timer %d, due at %d, is still there at %d", id, timer.deadline, c.wheel.Now())
		}
	}
	c.checkNext()
	c.checkDeadlines()
	for _, n := range []int{-1, 2, len(c.timers) + 1} {
		c.checkEarliest(3, n)
		c.checkEarliest(1000, n)
	}
	checkInvariants(c, c.wheel)
}

func (c *checked) checkNext() {
	c.Helper()
	earliest := uint64(math.MaxUint64)
	for _, timer := range c.timers {
		earliest = min(earliest, timer.deadline)
	}
	switch next, ok := c.wheel.Next(); {
	case ok != (len(c.timers) > 0):
		c.Fatalf("Next reports %v with %d timers", ok, len(c.timers))
	case !ok:
	case next < c.wheel.Now() || next > earliest:
		c.Fatalf("Next is %d, but it is %d, and a timer is due at %d", next, c.wheel.Now(), earliest)
	case next != earliest && nextIsExact(c.wheel):
		c.Fatalf("Next is %d, not %d", next, earliest)
	}
}

// nextIsExact reports whether Next must return the earliest deadline.
func nextIsExact(w *Wheel) bool {
	if w.cascading != 0 {
		return false
	}
	level, slot := w.firstOccupied()
	return level == 0 || ringLength(w, w.slots[level][slot]) <= 32
}

func ringLength(w *Wheel, tail uint32) int {
	n := 1
	for id := chunked.At(&w.nodes, tail).next; id != tail; id = chunked.At(&w.nodes, id).next {
		n++
	}
	return n
}

// checkDeadlines compares the deadlines of all chunks.
func (c *checked) checkDeadlines() {
	c.Helper()
	var want, got []uint64
	for _, timer := range c.timers {
		want = append(want, timer.deadline)
	}
	for chunk := range c.wheel.Chunks() + 1 {
		got = c.wheel.Deadlines(chunk, got)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.Fatalf("Deadlines are %d, not %d", got, want)
	}
}

// checkEarliest compares the n earliest timers with even ids.
func (c *checked) checkEarliest(most, n int) {
	c.Helper()
	visited := 0
	ids, ok := c.wheel.EarliestWithin(most, n, func(id uint32) bool {
		visited++
		return id%2 == 0
	})
	var want, got []uint64
	for id, timer := range c.timers {
		if id%2 == 0 {
			want = append(want, timer.deadline)
		}
	}
	for _, id := range ids {
		got = append(got, c.timers[id].deadline)
	}
	slices.Sort(want)
	want = want[:max(0, min(n, len(want)))]
	slices.Sort(ids)
	switch distinct := len(slices.Compact(ids)); {
	case visited > most || !ok && len(c.timers) <= most:
		c.Fatalf("EarliestWithin(%d) visited %d of %d timers: %v", most, visited, len(c.timers), ok)
	case ok && (distinct != len(got) || !slices.Equal(got, want)):
		c.Fatalf("the %d earliest are %d, due at %d, not %d", n, ids, got, want)
	}
}
