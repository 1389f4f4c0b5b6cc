package contract

import (
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// modelMetrics is what Metrics say, put down as plainly as can be: all durations, one by one.
type modelMetrics[T comparable] struct {
	retries, backedOff uint64
	// asked has since when each item is asked for that is ready or dirty, and begun since when
	// each is in processing.
	asked, begun map[T]time.Duration
	// queued, worked and delays are the durations.
	queued, worked, delays []time.Duration
	// frozen says that a shutdown has begun, and unfinished and longest what was said then.
	frozen              bool
	unfinished, longest time.Duration
	// readings is how many there are at most in the tick; and coarse says that they were so
	// many that they may have been shared. From there on no duration is known.
	readings int
	tick     time.Duration
	coarse   bool
}

func newModelMetrics[T comparable]() modelMetrics[T] {
	return modelMetrics[T]{asked: map[T]time.Duration{}, begun: map[T]time.Duration{}}
}

// sinceThen returns how long it is from one moment to another: 0 if that comes first, for the
// clock was set back.
func sinceThen(from, to time.Duration) time.Duration {
	switch {
	case to <= from:
		return 0
	case from < 0 && to > endOfTime+from:
		return endOfTime
	}
	return to - from
}

func (m *modelQueue[T]) countRetry(item T) {
	if item == item && !m.refusing {
		m.measured.retries++
	}
}

func (m *modelQueue[T]) countBackOff() {
	if !m.refusing {
		m.measured.backedOff++
	}
}

func (m *modelQueue[T]) measureBegin(item T, at time.Duration) {
	m.measured.queued = append(m.measured.queued, sinceThen(m.measured.asked[item], at))
	delete(m.measured.asked, item)
	m.measured.begun[item] = at
}

func (m *modelQueue[T]) measureEnd(item T) {
	m.measured.worked = append(m.measured.worked, sinceThen(m.measured.begun[item], m.now))
	delete(m.measured.begun, item)
}

// inFlight returns for how long the items in processing have been that, together, and the
// longest of them.
func (m *modelQueue[T]) inFlight() (together, longest time.Duration) {
	if m.measured.frozen {
		return m.measured.unfinished, m.measured.longest
	}
	for _, at := range m.measured.begun {
		age := sinceThen(at, m.now)
		together += min(age, endOfTime-together)
		longest = max(longest, age)
	}
	return together, longest
}

func (m *modelQueue[T]) measureEndOfUpdates() {
	m.measured.unfinished, m.measured.longest = m.inFlight()
	m.measured.frozen = true
}

// measureReadings notes that the clock may be read so often. In ticks of a nanosecond
// a reading is right however many share it, for the clock cannot move within them.
func (m *modelQueue[T]) measureReadings(n int) {
	if tick := m.tickOf(m.now); tick != m.measured.tick {
		m.measured.readings, m.measured.tick = 0, tick
	}
	m.measured.readings += n
	if m.tick == 1 {
		m.measured.coarse = m.measured.coarse || m.age.vague
	} else if m.measured.readings > int(250*m.tick/time.Millisecond) {
		m.measured.coarse = true
		m.age.vague = m.age.vague || m.age.fine
	}
}

// checkMetrics compares all metrics.
func (p *playing[T]) checkMetrics() {
	got, m := p.queue.Stats().Metrics, p.model
	if !p.setup.ages.metrics {
		if got != nil {
			p.fatalf("there are metrics: %+v", got)
		}
		return
	}
	dirty := 0
	for _, phase := range m.phase {
		if phase == "dirty" {
			dirty++
		}
	}
	counted := [4]int{got.Depth, got.Dirty, int(got.Retries), int(got.BackedOff)}
	if want := [4]int{m.ready() + dirty, dirty, int(m.measured.retries), int(m.measured.backedOff)}; counted != want {
		p.fatalf("depth, dirty, retries and back-offs are %v, not %v", counted, want)
	}
	p.checkHistogram("QueueDuration", got.QueueDuration, m.measured.queued, !m.measured.coarse)
	p.checkHistogram("WorkDuration", got.WorkDuration, m.measured.worked, !m.measured.coarse)
	p.checkHistogram("Delay", got.Delay, m.measured.delays, true)
	together, longest := m.inFlight()
	if together == endOfTime {
		together = max(0, got.Unfinished) // beyond all that a Duration can say, and beyond twice that
	}
	if same := got.Unfinished == together && got.LongestRunning == longest; !same && !m.measured.coarse && !m.age.vague {
		p.fatalf("unfinished are %v, the longest %v, not %v and %v", got.Unfinished, got.LongestRunning, together, longest)
	}
}

// checkHistogram compares a histogram with the durations that it should have counted: if they
// are known, to the nanosecond.
func (p *playing[T]) checkHistogram(name string, h shardq.Histogram, want []time.Duration, known bool) {
	if int(h.Count) != len(want) {
		p.fatalf("%s has %d durations, not %v", name, h.Count, want)
	}
	if !known {
		return
	}
	sum := time.Duration(0)
	for _, d := range want {
		sum += min(d, math.MaxInt64-sum)
	}
	if h.Sum != sum {
		p.fatalf("%s has the sum %v, not that of %v, %v", name, h.Sum, want, sum)
	}
	for bound := time.Duration(10); bound <= 1000*time.Second; bound *= 10 {
		n := len(slices.DeleteFunc(slices.Clone(want), func(d time.Duration) bool { return d > bound }))
		if got := h.AtMost(bound); got != uint64(n) {
			p.fatalf("%s has %d durations of at most %v: of %v", name, got, bound, want)
		}
	}
}

// checkParts compares what stats have beside the counts: the parts of the shards, and what
// was looked up.
func (p *playing[T]) checkParts() {
	stats, sum, added := p.queue.Stats(), shardq.ShardInfo{}, uint64(0)
	for _, part := range stats.PerShard {
		sum.Ready += part.Ready
		sum.Processing += part.Processing
		sum.Waiting += part.Waiting
		sum.Held += part.Held
		added += part.Added
	}
	total := shardq.ShardInfo{Ready: stats.Ready, Processing: stats.Processing, Waiting: stats.Waiting, Held: stats.Held}
	if sum != total || added != stats.Added || len(stats.PerShard) != p.setup.shards {
		p.fatalf("the shards have %+v, but together there are %+v", stats.PerShard, total)
	}
	if skew := stats.Skew(); stats.Added > 0 && (skew < 1 || skew > float64(p.setup.shards)) || stats.Added == 0 && skew != 0 {
		p.fatalf("the skew of %+v is %v", stats.PerShard, skew)
	}
	if stats.Capacity != p.setup.capacity || stats.ShuttingDown != p.model.refusing || stats.Parked != len(p.sleepers) {
		p.fatalf("capacity %d, shutting down %v, parked %d; %d sleep", stats.Capacity, stats.ShuttingDown, stats.Parked, len(p.sleepers))
	}
	p.checkNextDue(stats)
	p.checkOldest(stats)
}

// checkNextDue checks that the next delay does not end before NextDue says so; a delay
// that was canceled or put off may have been about to end before.
func (p *playing[T]) checkNextDue(stats shardq.Stats) {
	earliest, waits := p.model.earliest()
	switch {
	case !waits && !stats.NextDue.IsZero(), waits && earliest != endOfTime && stats.NextDue.IsZero():
		p.fatalf("the next delay ends at %v, but there is one: %v", stats.NextDue, waits)
	case waits && earliest != endOfTime && stats.NextDue.After(p.began.Add(earliest)):
		p.fatalf("the next delay ends at %v, but NextDue is %v", p.began.Add(earliest), stats.NextDue)
	}
}

// checkOldest compares the ages of what has been longest in its state.
func (p *playing[T]) checkOldest(stats shardq.Stats) {
	m, oldest := p.model, shardq.ShardInfo{}
	for _, part := range stats.PerShard {
		oldest.OldestReady = max(oldest.OldestReady, part.OldestReady)
		oldest.OldestProcessing = max(oldest.OldestProcessing, part.OldestProcessing)
	}
	if !p.setup.ages.kept {
		if oldest != (shardq.ShardInfo{}) {
			p.fatalf("without ages there is %+v", oldest)
		}
		return
	}
	if m.age.vague || m.measured.coarse || p.setup.routing == "group" {
		return
	}
	want := shardq.ShardInfo{}
	for item, phase := range m.phase {
		age := sinceThen(m.age.since[item], m.now)
		if phase == "ready" {
			want.OldestReady = max(want.OldestReady, age)
		} else {
			want.OldestProcessing = max(want.OldestProcessing, age)
		}
	}
	if oldest != want {
		p.fatalf("the oldest are %+v, not %+v", oldest, want)
	}
}
