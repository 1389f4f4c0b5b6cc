package queue

import (
	"maps"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stats"
)

// Instruments are the metrics that a queue updates, as those of client-go's
// MetricsProvider. They get the queue's counts and durations: at each operation
// while operations are few, and otherwise at the ticks of [Options].Ticker. An
// instrument that also has the method Add gets several at once.
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

// How many operations between two ticks bring the instruments up to date. Each takes
// some microseconds.
const (
	mostAtOnce  = 1 << 14 // as many as tests of the peers expect
	mostScraped = 128
)

// A meter shows the readings of a queue on instruments. Fields that are not atomic
// belong to the caller that shows, except for late, which is added to atomically.
type meter struct {
	state      atomic.Int32 // 0, or how often show was asked for since one caller shows
	operations atomic.Int32 // since the last tick
	to         Instruments
	read       func() stats.Stats
	dirty      func(depths map[int]int) // adds the dirty items by priority
	late       uint64                   // retries that the queue does not count
	most       int32                    // mostAtOnce or mostScraped

	measured      atomic.Bool  // the last tick has shown unfinished work
	taken         atomic.Int64 // the priority of an item that was taken, or nothingTaken
	adds, retries uint64
	depths        map[int]int
	known         map[int]bool // the priorities that have been shown
	latency, work shownDurations
}

const nothingTaken = math.MinInt64

// took follows a hand-out. An item may be gone before its depth was ever shown.
func (m *meter) took(priority int) {
	if m != nil && m.operations.Load() < m.most {
		m.taken.Store(int64(priority))
		m.operated()
	}
}

// operated follows each operation.
func (m *meter) operated() {
	if m != nil && m.operations.Load() < m.most && m.operations.Add(1) <= m.most {
		m.show()
		m.settle()
	}
}

func (m *meter) tick() {
	m.operations.Store(0)
	m.show()
	read := m.read().Metrics
	m.measured.Store(read.Unfinished > 0)
	m.to.Unfinished.Set(read.Unfinished.Seconds())
	m.to.LongestRunning.Set(read.LongestRunning.Seconds())
}

// show brings the instruments up to date with no lock held, because they may be the
// user's. One caller does so at a time, and again for each that came meanwhile.
func (m *meter) show() {
	if m.state.Add(1) != 1 {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			m.state.Store(0)
			panic(r)
		}
	}()
	for asked := int32(0); !m.state.CompareAndSwap(asked, 0); {
		asked = m.state.Load()
		m.showNow()
	}
}

// showEach makes each operation show from a shutdown on: no tick follows.
func (m *meter) showEach() {
	if m != nil {
		m.operations.Store(math.MinInt32)
	}
}

// end shows what was counted until the shutdown, and that nobody measures any more
// what is in processing. It returns when that is shown.
func (m *meter) end() {
	m.showEach() // again: a tick may have come
	m.show()
	m.settle()
	if m.measured.Swap(false) { // as client-go's, the gauges get no other call after a shutdown
		m.to.Unfinished.Set(0)
		m.to.LongestRunning.Set(0)
	}
}

// settle waits while another caller shows, such as the end of a delay. The wait is
// bounded, because an instrument may have called the queue.
func (m *meter) settle() {
	for tries := 0; m.state.Load() != 0 && tries < 1<<16; tries++ {
		runtime.Gosched()
	}
}

func (m *meter) showNow() {
	s := m.read()
	m.adds = count(m.to.Adds, m.adds, s.Added)
	m.retries = count(m.to.Retries, m.retries, s.Metrics.Retries+atomic.LoadUint64(&m.late))
	m.latency.show(s.Metrics.QueueDuration, m.to.Latency)
	m.work.show(s.Metrics.WorkDuration, m.to.WorkDuration)
	m.showDepths(m.depthsOf(s))
}

func count(on interface{ Inc() }, shown, now uint64) uint64 {
	if n := now - shown; n > 1 {
		if bulk, ok := on.(interface{ Add(float64) }); ok {
			bulk.Add(float64(n))
			return now
		}
	}
	for ; shown < now; shown++ {
		on.Inc()
	}
	return now
}

// depthsOf counts with the priority 0 what has too many priorities to be told apart.
func (m *meter) depthsOf(s stats.Stats) map[int]int {
	depths := map[int]int{}
	if m.to.DepthByPriority == nil {
		depths[0] = s.Metrics.Depth
		return depths
	}
	for _, row := range s.Priorities {
		depths[row.Priority] += row.Ready
	}
	if s.Priorities == nil {
		depths[0] = s.Ready
	}
	if s.Metrics.Dirty > 0 {
		m.dirty(depths)
	}
	return depths
}

func (m *meter) showDepths(now map[int]int) {
	for priority := range m.depths {
		if _, still := now[priority]; !still {
			now[priority] = 0
		}
	}
	if taken := m.taken.Load(); taken != nothingTaken && !m.known[int(taken)] {
		m.showDepth(int(taken), 1)
		m.showDepth(int(taken), -1)
	}
	for priority, n := range now {
		m.showDepth(priority, n-m.depths[priority])
	}
	maps.DeleteFunc(now, func(_, n int) bool { return n == 0 })
	m.depths = now
}

func (m *meter) showDepth(priority, by int) {
	if by == 0 {
		return
	}
	if m.known[priority] = true; len(m.known) > mostKnown {
		clear(m.known)
	}
	switch bulk := m.to.DepthByPriority.(type) {
	case nil:
		change(by, m.to.Depth.Inc, m.to.Depth.Dec)
	case interface{ Add(priority, by int) }:
		bulk.Add(priority, by)
	default:
		change(by, func() { bulk.Inc(priority) }, func() { bulk.Dec(priority) })
	}
}

const mostKnown = 1000

func change(by int, inc, dec func()) {
	for ; by > 0; by-- {
		inc()
	}
	for ; by < 0; by++ {
		dec()
	}
}

// shownDurations is what was shown of a histogram.
type shownDurations struct {
	count  uint64
	sum    time.Duration
	counts map[time.Duration]uint64 // by the upper bounds of buckets
}

// show observes a new duration exactly if it is the only one. Of several, it observes
// one for each, within its bucket, so that their sum is the measured one if it can be.
func (d *shownDurations) show(now stats.Histogram, on interface{ Observe(float64) }) {
	n, sum := now.Count-d.count, now.Sum-d.sum
	if n == 0 {
		return
	}
	if d.counts == nil {
		d.counts = map[time.Duration]uint64{}
	}
	d.count, d.sum = now.Count, now.Sum
	middles := 0.0
	for upper, all := range now.Buckets() {
		middles += float64(all-d.counts[upper]) * middle(upper)
	}
	for upper, all := range now.Buckets() {
		seconds := sum.Seconds()
		if n > 1 {
			seconds = min(max(middle(upper)*sum.Seconds()/middles, lower(upper)), upper.Seconds())
		}
		more := all - d.counts[upper]
		d.counts[upper] = all
		for range more {
			on.Observe(seconds)
		}
	}
}

const (
	shortest = time.Microsecond    // the shortest buckets are wider
	longest  = 12 * 24 * time.Hour // the last bucket has no bound
	step     = 1.0906              // the ratio of bounds, which are powers of ten, too
)

// lower is the shortest duration of a bucket, in seconds.
func lower(upper time.Duration) float64 {
	switch {
	case upper == math.MaxInt64:
		return longest.Seconds()
	case upper <= shortest:
		return 0
	}
	decade := shortest
	for decade < upper/10 {
		decade *= 10
	}
	return max(upper.Seconds()/step, (decade + 1).Seconds())
}

func middle(upper time.Duration) float64 {
	return max(lower(upper)+min(upper, 2*longest).Seconds(), 1e-9) / 2
}
