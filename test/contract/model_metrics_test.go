package contract

import (
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// modelMetrics are the Metrics in the simplest form: all durations, one by one.
type modelMetrics[T comparable] struct {
	retries, backoffs uint64
	// asked has the times since which ready and dirty items have been
	// requested, and begun those since which items have been in processing.
	asked, begun map[T]time.Duration
	// queued, worked and delays are the durations.
	queued, worked, delays []time.Duration
	// frozen says that a shutdown has begun. unfinished and longest are the
	// figures of that moment.
	frozen              bool
	unfinished, longest time.Duration
	// readings is the largest number of readings of the clock in the tick.
	// coarse says that there were so many that readings may have been shared.
	// From then on the model knows no duration.
	readings int
	tick     time.Duration
	coarse   bool
}

func newModelMetrics[T comparable]() modelMetrics[T] {
	return modelMetrics[T]{asked: map[T]time.Duration{}, begun: map[T]time.Duration{}}
}

// sinceThen returns the time from one moment to another. It is 0 if the clock
// was set back in between.
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

func (m *modelQueue[T]) countBackoff() {
	if !m.refusing {
		m.measured.backoffs++
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

// inFlight returns how long the items in processing have been there: together,
// and the longest.
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

// measureReadings notes that the clock may be read n times. In ticks of a
// nanosecond a shared reading is always right, because the clock cannot move
// within them.
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
	counted := [4]int{got.Depth, got.Dirty, int(got.Retries), int(got.Backoffs)}
	if want := [4]int{m.ready() + dirty, dirty, int(m.measured.retries), int(m.measured.backoffs)}; counted != want {
		p.fatalf("depth, dirty, retries and back-offs are %v, not %v", counted, want)
	}
	p.checkHistogram("QueueDuration", got.QueueDuration, m.measured.queued, !m.measured.coarse)
	p.checkHistogram("WorkDuration", got.WorkDuration, m.measured.worked, !m.measured.coarse)
	p.checkHistogram("Delay", got.Delay, m.measured.delays, true)
	together, longest := m.inFlight()
	if together == endOfTime {
		together = max(0, got.Unfinished) // beyond the range of a Duration
	}
	if same := got.Unfinished == together && got.LongestRunning == longest; !same && !m.measured.coarse && !m.age.vague {
		p.fatalf("unfinished are %v, the longest %v, not %v and %v", got.Unfinished, got.LongestRunning, together, longest)
	}
}

// checkHistogram compares a histogram with the durations that it must have
// counted. It compares their sum to the nanosecond if they are known.
func (p *playing[T]) checkHistogram(name string, h stats.Histogram, want []time.Duration, known bool) {
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

// checkParts compares the other fields of Stats: the parts of the shards, and
// the readings.
func (p *playing[T]) checkParts() {
	st, sum, added := p.queue.Stats(), stats.Shard{}, uint64(0)
	for _, part := range st.PerShard {
		sum.Ready += part.Ready
		sum.Processing += part.Processing
		sum.Delayed += part.Delayed
		sum.Held += part.Held
		added += part.Added
	}
	total := stats.Shard{Ready: st.Ready, Processing: st.Processing, Delayed: st.Delayed, Held: st.Held}
	if sum != total || added != st.Added || len(st.PerShard) != p.setup.shards {
		p.fatalf("the shards have %+v, but together there are %+v", st.PerShard, total)
	}
	if skew := st.Skew(); st.Added > 0 && (skew < 1 || skew > float64(p.setup.shards)) || st.Added == 0 && skew != 0 {
		p.fatalf("the skew of %+v is %v", st.PerShard, skew)
	}
	if st.Capacity != p.setup.capacity || st.ShuttingDown != p.model.refusing || st.Parked != len(p.parked) {
		p.fatalf("capacity %d, shutting down %v, parked %d, not %d", st.Capacity, st.ShuttingDown, st.Parked, len(p.parked))
	}
	p.checkNextDue(st)
	p.checkOldest(st)
}

// checkNextDue checks that no delay expires before NextDue. NextDue may be that
// of a delay that was canceled or put off.
func (p *playing[T]) checkNextDue(st shardq.Stats) {
	earliest, waits := p.model.earliest()
	switch {
	case !waits && !st.NextDue.IsZero(), waits && earliest != endOfTime && st.NextDue.IsZero():
		p.fatalf("the next delay ends at %v, but there is one: %v", st.NextDue, waits)
	case waits && earliest != endOfTime && st.NextDue.After(p.began.Add(earliest)):
		p.fatalf("the next delay ends at %v, but NextDue is %v", p.began.Add(earliest), st.NextDue)
	}
}

// checkOldest compares the ages of the items that have been longest in their
// states.
func (p *playing[T]) checkOldest(st shardq.Stats) {
	m, oldest := p.model, stats.Shard{}
	for _, part := range st.PerShard {
		oldest.OldestReady = max(oldest.OldestReady, part.OldestReady)
		oldest.OldestProcessing = max(oldest.OldestProcessing, part.OldestProcessing)
	}
	if !p.setup.ages.kept {
		if oldest != (stats.Shard{}) {
			p.fatalf("without ages there is %+v", oldest)
		}
		return
	}
	if m.age.vague || m.measured.coarse || p.setup.routing == "group" {
		return
	}
	want := stats.Shard{}
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
