package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/observe/debugpage"
)

// A reading has the numbers of an answer.
type reading struct{ ready, added, put, merged float64 }

func (r reading) in(report map[string]any) {
	q := queueIn(report, 0)
	set(q, "gauges.ready", r.ready)
	set(q, "counters.added", r.added)
	set(q, "values", map[string]any{
		"keys": 0, "weight": 0, "capacity": 0, "put": r.put, "merged": r.merged, "overCapacity": 0, "mergedShare": 0,
	})
}

// line returns the line of a graph as it is drawn.
func (b *tab) line(selector string) string {
	return strings.Join(b.attributes(selector+" path.line", "d"), " ")
}

// lineThrough returns the line through points of a graph. The graph is 100
// wide. Its highest value is 1 below the upper edge, and 0 is 1 above the lower
// edge, at 30.
func lineThrough(points ...[2]float64) string {
	line := ""
	for i, p := range points {
		line += fmt.Sprintf("%c%.2f %.2f", "ML"[min(i, 1)], p[0], 29-28*p[1])
	}
	return line
}

// TestGraphsFollowTheNumbers checks the graphs of a value, of the rate of a
// counter, and of a share.
func TestGraphsFollowTheNumbers(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, int]{Merge: func(pending, _ int) int { return pending }})
	s := newStepped(t, c.Queue())
	ready, added, merged := `.tile [data-graph="gauges.ready"]`, `.tile [data-graph="counters.added"]`, `.tile [data-graph="values.merged"]`
	label := func(graph string) string { return s.attributes(graph+" svg", "aria-label")[0] }

	s.step(time.Second, reading{ready: 0, added: 100, put: 10, merged: 5}.in) // relative to the first reading, which is 0
	require.Equal(t, lineThrough([2]float64{0, 0}, [2]float64{100, 0}), s.line(ready), "nothing is at the bottom")
	require.Equal(t, "Ready, last 1.0 s: 0 to 0, now 0", label(ready))
	require.Empty(t, s.line(added), "one point is no line")

	s.step(time.Second, reading{ready: 10, added: 120, put: 10, merged: 5}.in)
	s.step(2*time.Second, reading{ready: 5, added: 120, put: 110, merged: 30}.in)
	s.step(4*time.Second, reading{ready: 20, added: 320, put: 210, merged: 105}.in)
	require.Equal(t, lineThrough([2]float64{0, 0}, [2]float64{12.5, 0}, [2]float64{25, 0.5}, [2]float64{50, 0.25}, [2]float64{100, 1}), s.line(ready))
	require.Equal(t, []string{"20", "last 8.0 s", "0"}, s.texts(ready+" .scale i"))
	require.Equal(t, "Ready, last 8.0 s: 0 to 20, now 20", label(ready))
	area := s.attributes(ready+" path.area", "d")[0]
	require.Equal(t, s.line(ready)+"L100 30L0.00 30Z", area, "down to the lower edge, and back")
	// The rates are 100, 20, 0 and 50 per second, from the second reading on.
	require.Equal(t, lineThrough([2]float64{12.5, 1}, [2]float64{25, 0.2}, [2]float64{50, 0}, [2]float64{100, 0.5}), s.line(added))
	require.Equal(t, "Added per second, last 8.0 s: 0 to 100, now 50", label(added))
	require.Equal(t, "40", s.text(`tr [data-rate="counters.added"]`), "320 in 8 s")
	// The shares are a half, none, a quarter, and three quarters. The upper
	// edge is 1.
	require.Equal(t, lineThrough([2]float64{12.5, 0.5}, [2]float64{50, 0.25}, [2]float64{100, 0.75}), s.line(merged))
	require.Equal(t, "Merged share, last 8.0 s: 25 % to 75 %, now 75 %", label(merged))
	require.Equal(t, "50 %", s.text(`[data-share="values.merged"]`), "105 of 210")

	s.step(8*time.Second, reading{ready: 5, added: 400, put: 210, merged: 105}.in)
	require.Equal(t, "10", s.text(`tr [data-rate="counters.added"]`), "80 in 8 s: what was before is more than ten seconds ago")
	require.Equal(t, "–", s.text(`[data-share="values.merged"]`), "nothing was put meanwhile")
	for n := range 2 { // there are rates although the last ten seconds have one reading
		s.step(30*time.Second, reading{added: float64(460 + 60*n)}.in)
	}
	require.Equal(t, "2.0", s.text(`tr [data-rate="counters.added"]`))
	s.requireNoComplaints()
}

// TestReadyIsScaledToItsRange checks that a slow growth of many items is seen,
// and that a number that does not change has no axis.
func TestReadyIsScaledToItsRange(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, int]{Merge: func(pending, _ int) int { return pending }})
	s := newStepped(t, c.Queue())
	const ready = `.tile [data-graph="gauges.ready"]`
	s.step(10*time.Minute, reading{ready: 138_000}.in) // the first is forgotten
	s.step(time.Second, reading{ready: 138_000}.in)
	require.Equal(t, []string{"", "last 1.0 s", ""}, s.texts(ready+" .scale i"))
	s.step(time.Second, reading{ready: 138_744}.in)
	require.Equal(t, lineThrough([2]float64{0, 0}, [2]float64{50, 0}, [2]float64{100, 1}), s.line(ready))
	require.Equal(t, []string{"138,744", "last 2.0 s", "138,000"}, s.texts(ready+" .scale i"))
	s.requireNoComplaints()
}

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
	label := func() string { return s.attributes(workChart+"svg", "aria-label")[0] }
	figures := func() []string { return s.texts(workChart + "td.recent") }
	require.Equal(t, "At work: 100 durations, half of them at most 1.0 ms", label())

	s.step(90*time.Second, alike)
	require.Equal(t, []string{"–", "–", "–", "–", "0"}, figures())
	require.Equal(t, "At work, last 1 m 30 s: nothing; since creation: 100 durations, half of them at most 1.0 ms", label())

	q.work(recent...)
	s.step(2*time.Minute, alike)
	require.Equal(t, want.texts(workChart+"td.all"), figures())
	require.Equal(t, "last 3 m 30 s", s.text(workChart+"th.recent"))
	require.Equal(t, "At work, last 3 m 30 s: 4 durations, half of them at most 917 ms; since creation: 104 durations, half of them at most 20 ms", label())
	require.Equal(t, []string{"96", "0", "0", "0", "96", "2", "0", "0", "0", "3", "0", "2"}, s.attributes(workChart+"g.all rect", "height"), "of 104")
	require.Equal(t, []string{"0", "0", "0", "0", "0", "50", "0", "0", "0", "100", "0", "50"}, s.attributes(workChart+"g.recent rect", "height"), "of 4")
	s.step(4*time.Minute, alike) // nothing earlier is kept
	require.Equal(t, []string{"–", "–", "–", "–", "0"}, figures())

	other := newTimed() // with the same number of other durations
	for range 104 {
		other.work(time.Minute)
	}
	queue = other
	s.step(time.Second, alike)
	require.Equal(t, "At work: 104 durations, half of them at most 1 m 04 s", label())
	require.Equal(t, "–", s.text(`tr [data-rate="counters.done"]`), "there is nothing to compare")
	other.work(time.Minute)
	s.step(10*time.Second, alike)
	require.Equal(t, "1", figures()[4])
	require.Equal(t, "0.1", s.text(`tr [data-rate="counters.done"]`))
	s.requireNoComplaints()
}

// alike makes all queues look the same to the page, as queues do that are not
// comparable.
func alike(report map[string]any) { queueIn(report, 0)["instance"] = "alike" }
