package queue

import (
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// An Observer follows what happens in a queue. Calls may overlap, and those for
// one item may come in another order: Started may come before Added.
type Observer[T comparable] interface {
	// Added is called when an item is in line for a run, or was taken out of
	// the line without a Get.
	Added(stats.Add[T])
	// Retried is called for each add with a delay.
	Retried()
	// Started is called when an item was handed out.
	Started(item T, priority int)
	// Finished is called by Done, before it ends the processing.
	Finished(item T)
	// Update is called now and then.
	Update()
}

// Instruments are where a [Meter] counts. Their methods are those of the
// metrics of client-go's MetricsProvider.
type Instruments struct {
	// Depth counts the items that are ready or dirty. DepthByPriority does so
	// by priority. One of them is nil.
	Depth interface {
		Inc()
		Dec()
	}
	DepthByPriority interface {
		Inc(priority int)
		Dec(priority int)
	}
	Adds, Retries interface{ Inc() }
	// Latency and WorkDuration observe seconds.
	Latency, WorkDuration interface{ Observe(float64) }
	// Unfinished and LongestRunning are in seconds.
	Unfinished, LongestRunning interface{ Set(float64) }
}

// A Meter is an [Observer] that keeps the seven metrics of client-go.
type Meter[T comparable] struct {
	to    Instruments
	clock clock.Clock
	depth depth
	// inLine has the items that are in line.
	inLine *xsync.MapOf[T, inLine]
	// started has the times at which items were handed out.
	started *xsync.MapOf[T, time.Time]
}

// An inLine is what a Meter knows of an item in line.
type inLine struct {
	// calls counts the calls that put the item in line, minus those that took
	// it out. It is -1 while Started has come before Added.
	calls int
	// since is when the item came into line.
	since time.Time
}

// NewMeter returns a Meter. If clock is nil, it uses the real one.
func NewMeter[T comparable](to Instruments, c clock.Clock) *Meter[T] {
	if c == nil {
		c = clock.Real()
	}
	return &Meter[T]{
		to: to, clock: c, inLine: xsync.NewMapOf[T, inLine](), started: xsync.NewMapOf[T, time.Time](),
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

// count counts that an item came into line, or left it. It returns since when
// the item was in line.
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

// apply carries a change out on the instrument.
func (m *Meter[T]) apply(priority, by int) {
	for ; by > 0; by-- {
		if m.to.DepthByPriority != nil {
			m.to.DepthByPriority.Inc(priority)
		} else {
			m.to.Depth.Inc()
		}
	}
	for ; by < 0; by++ {
		if m.to.DepthByPriority != nil {
			m.to.DepthByPriority.Dec(priority)
		} else {
			m.to.Depth.Dec()
		}
	}
}

// A depth counts items by priority. A consumer may tell that it has an item
// before the producer tells that it has added it. So the counts may be below
// zero for a moment, and what is shown is not.
type depth struct {
	mu sync.Mutex
	of map[int]*counted
	// changed has what is not shown yet, each once. One caller shows it at a
	// time, without the lock.
	changed []*counted
	showing bool
}

// A counted is the count of a priority.
type counted struct {
	priority, count, shown int
	changed                bool // it is in depth.changed
}

// change changes a count, and calls show for what has to be shown, unless
// another caller does.
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

// count changes a count, and notes that it has to be shown.
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

// mostRemembered limits the priorities without items that are remembered.
const mostRemembered = 64
