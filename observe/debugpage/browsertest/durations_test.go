package browsertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/observe/debugpage"
)

// A timed queue has work that takes as long as its test says.
type timed struct {
	*shardq.Queue[int]
	fake *clock.Fake
	next int
}

func newTimed() *timed {
	fake := newFake()
	return &timed{Queue: shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 1, Metrics: true, Clock: fake}), fake: fake}
}

func (q *timed) work(durations ...time.Duration) {
	for _, d := range durations {
		q.Add(q.next)
		item, _ := q.Get()
		q.fake.Step(d)
		q.Done(item)
		q.next++
	}
}

const workChart = `[data-chart="detail.durations.work"] `

// TestDurationsOfTheLastMinutes checks that the recent durations equal those of
// a queue that has counted nothing else. They end with the window. They start
// again with another queue of the same name, which only its counts distinguish.
func TestDurationsOfTheLastMinutes(t *testing.T) {
	recent := []time.Duration{3 * time.Second, time.Second, 900 * time.Millisecond, 40 * time.Millisecond}
	only := newTimed()
	only.work(recent...)
	want := newStepped(t, only)
	q := newTimed()
	for range 50 {
		q.work(time.Millisecond, 20*time.Millisecond)
	}
	queue := shardq.Inspector(q)
	s := newSteppedOf(t, debugpage.Options{List: func() []shardq.Inspector { return []shardq.Inspector{queue} }}, unfolded, alike)
	require.False(t, evaluate[bool](s.tab, `document.querySelector('`+workChart+`.recent').checkVisibility()`), "there is nothing to compare")
	label := func() string { return s.attributes(workChart+"svg", "aria-label")[0] }
	sinceCreation := s.texts(workChart + "td.all")
	require.Equal(t, "At work: 100 durations, half of them at most 1.0 ms", label())

	s.step(90*time.Second, alike)
	require.Equal(t, []string{"–", "–", "–", "–", "0"}, s.texts(workChart+"td.recent"))
	require.Equal(t, sinceCreation, s.texts(workChart+"td.all"))
	require.Empty(t, s.texts(workChart+"g.recent rect"))
	require.Equal(t, "At work, last 1 m 30 s: nothing; since creation: 100 durations, half of them at most 1.0 ms", label())
	require.Equal(t, "last 1 m 30 s", s.text(workChart+"th.recent"))

	q.work(recent...)
	s.step(2*time.Minute, alike)
	require.True(t, evaluate[bool](s.tab, `document.querySelector('`+workChart+`.recent').checkVisibility()`))
	require.Equal(t, want.texts(workChart+"td.all"), s.texts(workChart+"td.recent"))
	require.Equal(t, "104", s.texts(workChart + "td.all")[4])
	require.Equal(t, "last 3 m 30 s", s.text(workChart+"th.recent"))
	require.Equal(t, "At work, last 3 m 30 s: 4 durations, half of them at most 917 ms; since creation: 104 durations, half of them at most 20 ms", label())
	require.Equal(t, []string{"96", "0", "0", "0", "96", "2", "0", "0", "0", "3", "0", "2"}, s.attributes(workChart+"g.all rect", "height"), "of 104")
	require.Equal(t, []string{"0", "0", "0", "0", "0", "50", "0", "0", "0", "100", "0", "50"}, s.attributes(workChart+"g.recent rect", "height"), "of 4")
	require.Equal(t, []string{"100", "100", "100", "100", "100", "50", "100", "100", "100", "0", "100", "50"}, s.attributes(workChart+"g.recent rect", "y"))
	require.Equal(t, "≤ 1.0 s: 2, 2 of them recent", s.texts(workChart + "g.recent title")[9])
	require.Equal(t, []string{"≤ 1.9 ms", "≤ 4.0 s"}, s.texts(workChart+".axis span"))

	s.step(4*time.Minute, alike) // nothing earlier is kept
	require.Equal(t, []string{"–", "–", "–", "–", "0"}, s.texts(workChart+"td.recent"))
	require.Equal(t, "last 4 m 00 s", s.text(workChart+"th.recent"))

	for range 5 { // near the whole window, it is the whole window
		s.step(57*time.Second, alike)
	}
	require.Equal(t, "last 5 m", s.text(workChart+"th.recent"))

	other := newTimed() // with the same number of other durations
	for range 104 {
		other.work(time.Minute)
	}
	queue = other
	s.step(time.Second, alike)
	require.False(t, evaluate[bool](s.tab, `document.querySelector('`+workChart+`.recent').checkVisibility()`))
	require.Equal(t, "At work: 104 durations, half of them at most 1 m 04 s", label())
	require.Equal(t, "–", s.text(`.tile [data-rate="counters.done"]`), "there is nothing to compare")
	other.work(time.Minute)
	s.step(10*time.Second, alike)
	require.Equal(t, "1", s.texts(workChart + "td.recent")[4])
	require.Equal(t, "0.1", s.text(`.tile [data-rate="counters.done"]`))
	s.requireNoComplaints()
}

// alike makes all queues look the same to the page, as queues do that are not
// comparable.
func alike(report map[string]any) { queueIn(report, 0)["instance"] = "alike" }

// TestQueueThatIsReplacedByABusierOne replaces the queue by one with the same
// configuration and higher counts.
func TestQueueThatIsReplacedByABusierOne(t *testing.T) {
	first, busier := newTimed(), newTimed()
	first.work(time.Second)
	for range 1000 {
		busier.work(time.Second)
	}
	queue := shardq.Inspector(first)
	s := newSteppedOf(t, debugpage.Options{List: func() []shardq.Inspector { return []shardq.Inspector{queue} }}, "", unchanged)
	s.step(time.Second, unchanged)
	require.Equal(t, "0", s.text(`.tile [data-rate="counters.added"]`))
	queue = busier
	s.step(time.Second, unchanged)
	require.Equal(t, "–", s.text(`.tile [data-rate="counters.added"]`))
	require.Equal(t, "At work: 1,000 durations, half of them at most 1.0 s", s.attributes(workChart+"svg", "aria-label")[0])
	s.step(time.Second, unchanged)
	require.Equal(t, "0", s.text(`.tile [data-rate="counters.added"]`))
	s.requireNoComplaints()
}

// TestSumBeyondCounting checks that there is no mean, also not of the last
// minutes.
func TestSumBeyondCounting(t *testing.T) {
	q := newTimed()
	q.work(100 * 365 * 24 * time.Hour)
	s := newStepped(t, q)
	require.Equal(t, "36,500 d 00 h", s.texts(workChart + "td.all")[3])
	for range 3 {
		q.work(100 * 365 * 24 * time.Hour)
	}
	s.step(10*time.Second, unchanged)
	require.Equal(t, "–", s.texts(workChart + "td.all")[3])
	require.Equal(t, "–", s.texts(workChart + "td.recent")[3])
	require.Equal(t, "At work, last 10 s: 3 durations, half of them longer than 12 d 03 h; since creation: 4 durations, half of them longer than 12 d 03 h",
		s.attributes(workChart+"svg", "aria-label")[0])
	s.requireNoComplaints()
}

// TestChartsWithoutDurations checks that empty charts say so, and take no room
// until there are durations.
func TestChartsWithoutDurations(t *testing.T) {
	q := newTimed()
	s := newStepped(t, q)
	visible := func() []bool {
		return evaluate[[]bool](s.tab, `[".nothing", ".numbers", ".bars", ".axis"].map(part => document.querySelector('`+workChart+`' + part).checkVisibility())`)
	}
	require.Equal(t, []bool{true, false, false, false}, visible())
	q.work(time.Second)
	s.step(time.Second, unchanged)
	require.Equal(t, []bool{false, true, true, true}, visible())
	s.requireNoComplaints()
}

// TestValuesThatGoBack checks that lower counts of a Coalescer's values show
// that it was replaced.
func TestValuesThatGoBack(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, int]{
		Queue: shardq.Options[int]{Name: "clicks", Shards: 1}, Merge: func(pending, next int) int { return pending + next },
	})
	for _, name := range []string{"put", "merged", "overCapacity"} {
		with := func(n int) func(map[string]any) {
			return func(report map[string]any) { alike(report); set(queueIn(report, 0), "values."+name, n) }
		}
		s := newSteppedOf(t, debugpage.Options{Queues: []shardq.Inspector{c.Queue()}}, "", with(100))
		s.step(time.Second, with(100))
		require.Equal(t, "0", s.text(`.tile [data-rate="values.put"]`))
		s.step(time.Second, with(99))
		require.Equal(t, "–", s.text(`.tile [data-rate="values.put"]`), name)
		s.requireNoComplaints()
	}
}
