package queue

import (
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/itemmap"
	"github.com/shardq/shardq/stats"
)

// An Observer follows what happens in a queue. Calls may overlap, and those for
// one item may come in another order: Started may come before Added.
type Observer[T comparable] interface {
	// Added is called when an item is in line, or was taken out without a Get.
	Added(stats.Add[T])
	Retried()                     // for each add with a delay
	Started(item T, priority int) // when an item was handed out
	Finished(item T)              // by Done, before it ends the processing
	Update()                      // now and then
}

// Instruments are where a [Meter] counts, as in client-go's MetricsProvider.
type Instruments struct {
	// Depth counts ready and dirty items. It or DepthByPriority is nil.
	Depth interface {
		Inc()
		Dec()
	}
	DepthByPriority interface {
		Inc(priority int)
		Dec(priority int)
	}
	Adds, Retries interface{ Inc() }
	// All durations are in seconds.
	Latency, WorkDuration      interface{ Observe(float64) }
	Unfinished, LongestRunning interface{ Set(float64) }
}

// A Meter is an [Observer] that keeps the seven metrics of client-go.
type Meter[T comparable] struct {
	to      Instruments
	clock   clock.Clock
	depth   depth
	inLine  *xsync.MapOf[T, inLine]
	started *xsync.MapOf[T, time.Time] // when items were handed out
}

type inLine struct {
	// calls counts the calls that put the item in line, minus those that took
	// it out. It is -1 while Started has come before Added.
	calls int
	since time.Time // when the item came into line
}

type anyPriority Instruments

func (a anyPriority) Inc(int) { a.Depth.Inc() }
func (a anyPriority) Dec(int) { a.Depth.Dec() }

// NewMeter returns a Meter. If clock is nil, it uses the real one.
func NewMeter[T comparable](to Instruments, c clock.Clock) *Meter[T] {
	if c == nil {
		c = clock.Real()
	}
	if to.DepthByPriority == nil {
		to.DepthByPriority = anyPriority(to)
	}
	return &Meter[T]{
		to: to, clock: c, inLine: itemmap.New[T, inLine](), started: itemmap.New[T, time.Time](),
	}
}

func (m *Meter[T]) Added(a stats.Add[T]) {
	if a.Canceled {
		m.count(a.Item, -1, m.clock.Now())
		m.change(a.Priority, -1)
		return
	}
	if a.Raised {
		m.change(a.Before, -1)
	} else {
		m.to.Adds.Inc()
		m.count(a.Item, 1, m.clock.Now())
	}
	m.change(a.Priority, 1)
}

func (m *Meter[T]) count(item T, by int, now time.Time) (since time.Time) {
	since = now
	m.inLine.Compute(item, func(l inLine, known bool) (_ inLine, forget bool) {
		if known && l.calls > 0 {
			since = l.since
		}
		if l.calls += by; !known || by < 0 {
			l.since = now
		}
		return l, l.calls == 0
	})
	return since
}

func (m *Meter[T]) Retried() { m.to.Retries.Inc() }

func (m *Meter[T]) Started(item T, priority int) {
	m.change(priority, -1)
	now := m.clock.Now()
	m.started.Store(item, now)
	m.to.Latency.Observe(now.Sub(m.count(item, -1, now)).Seconds())
}

func (m *Meter[T]) Finished(item T) {
	if since, ok := m.started.LoadAndDelete(item); ok {
		m.to.WorkDuration.Observe(m.clock.Now().Sub(since).Seconds())
	}
}

func (m *Meter[T]) Update() {
	now := m.clock.Now()
	var sum, longest float64
	m.started.Range(func(_ T, since time.Time) bool {
		age := now.Sub(since).Seconds()
		sum, longest = sum+age, max(longest, age)
		return true
	})
	m.to.Unfinished.Set(sum)
	m.to.LongestRunning.Set(longest)
}

func (m *Meter[T]) change(priority, by int) { m.depth.change(priority, by, m.apply) }

func (m *Meter[T]) apply(priority, by int) {
	for ; by > 0; by-- {
		m.to.DepthByPriority.Inc(priority)
	}
	for ; by < 0; by++ {
		m.to.DepthByPriority.Dec(priority)
	}
}

// A consumer may tell that it has an item before the producer tells that it has
// added it, so counts may be below zero for a moment. The shown ones are not.
type depth struct {
	mu      sync.Mutex
	of      map[int]*counted
	changed []*counted // not shown yet, each once
	showing bool       // one caller shows them, without the lock
}

type counted struct {
	priority, count, shown int
	changed                bool // it is in depth.changed
}

// change changes a count, and calls show unless another caller does.
func (d *depth) change(priority, by int, show func(priority, by int)) {
	d.mu.Lock()
	d.count(priority, by)
	if d.showing {
		d.mu.Unlock()
		return
	}
	d.showing = true
	defer func() { // also if show panics
		d.showing = false
		d.mu.Unlock()
	}()
	for last := len(d.changed) - 1; last >= 0; last = len(d.changed) - 1 {
		c := d.changed[last]
		d.changed = d.changed[:last]
		priority, by := c.priority, max(0, c.count)-c.shown
		c.shown += by
		c.changed = false
		if c.count == 0 && len(d.of) > mostRemembered {
			delete(d.of, priority)
		}
		d.showUnlocked(priority, by, show)
	}
}

// showUnlocked calls show without the lock, which the caller holds.
func (d *depth) showUnlocked(priority, by int, show func(priority, by int)) {
	d.mu.Unlock()
	defer d.mu.Lock()
	show(priority, by)
}

func (d *depth) count(priority, by int) {
	if d.of == nil {
		d.of = map[int]*counted{}
	}
	c := d.of[priority]
	if c == nil {
		c = &counted{priority: priority}
		d.of[priority] = c
	}
	c.count += by
	if !c.changed {
		c.changed = true
		d.changed = append(d.changed, c)
	}
}

const mostRemembered = 64 // priorities without items
