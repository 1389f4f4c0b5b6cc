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
	require.Equal(t, "Ready, last 8.0 s: 0 to 20, now 20", label(ready))
	area := s.attributes(ready+" path.area", "d")[0]
	require.Equal(t, s.line(ready)+"L100 30L0 30Z", area, "down to the lower edge, and back")
	// The rates are 100, 20, 0 and 50 per second, from the second reading on.
	require.Equal(t, lineThrough([2]float64{0, 1}, [2]float64{100. / 7, 0.2}, [2]float64{300. / 7, 0}, [2]float64{100, 0.5}), s.line(added))
	require.Equal(t, "Added per second, last 7.0 s: 0 to 100, now 50", label(added))
	require.Equal(t, "40", s.text(`.tile [data-rate="counters.added"]`), "320 in 8 s")
	require.Equal(t, "40", s.text(`tr [data-rate="counters.added"]`))
	// The shares are a half, none, a quarter, and three quarters. The upper
	// edge is 1.
	require.Equal(t, lineThrough([2]float64{0, 0.5}, [2]float64{300. / 7, 0.25}, [2]float64{100, 0.75}), s.line(merged))
	require.Equal(t, "Merged share, last 7.0 s: 25 % to 75 %, now 75 %", label(merged))
	require.Equal(t, "50 %", s.text(`[data-share="values.merged"]`), "105 of 210")

	s.step(8*time.Second, reading{ready: 5, added: 400, put: 210, merged: 105}.in)
	require.Equal(t, "10", s.text(`.tile [data-rate="counters.added"]`), "80 in 8 s: what was before is more than ten seconds ago")
	require.Equal(t, "–", s.text(`[data-share="values.merged"]`), "nothing was put meanwhile")
	for n := range 2 { // there are rates although the last ten seconds have one reading
		s.step(30*time.Second, reading{added: float64(460 + 60*n)}.in)
	}
	require.Equal(t, "2.0", s.text(`.tile [data-rate="counters.added"]`))
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
	require.Equal(t, "–", s.text(`.tile [data-rate="counters.done"]`), "there is nothing to compare")
	other.work(time.Minute)
	s.step(10*time.Second, alike)
	require.Equal(t, "1", figures()[4])
	require.Equal(t, "0.1", s.text(`.tile [data-rate="counters.done"]`))
	s.requireNoComplaints()
}

// alike makes all queues look the same to the page, as queues do that are not
// comparable.
func alike(report map[string]any) { queueIn(report, 0)["instance"] = "alike" }

// A trend is the result of the function of that name in the page.
type trend struct {
	Tone    string  `json:"tone"`
	Verdict string  `json:"verdict"`
	Change  float64 `json:"change"`
	Span    float64 `json:"span"`
}

// readings is a function of the index i that returns the readings of a test,
// two seconds apart. Adds are those that the depth and the Dones leave.
const readings = `((i, {ready, done, ...more}) => ({time: 2000 * i, ready, done, added: ready + (done ?? 0), throttled: 0, ...more}))`

// TestTrend passes thirty readings, with the index i.
func TestTrend(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{shardq.MustNew(shardq.Options[string]{Name: "q"})}}))
	for _, c := range []struct {
		name, readings string
		tone, verdict  string
	}{
		{"ready now and then", `{ready: i % 2, done: i}`, "plain", "steady"},
		{"steady", `{ready: 5000 + i % 3, done: 100 * i, oldest: 2}`, "plain", "steady"},
		{"without metrics", `{ready: 5000, done: null, oldest: null}`, "plain", "steady"},
		{"no consumers", `{ready: 500, done: 7, oldest: 2 * i}`, "warn", "nothing is done"},
		{"one item, and no consumers", `{ready: 1, done: 0}`, "warn", "nothing is done"},
		{"consumers that stopped", `{ready: Math.max(0, i - 19), done: Math.min(i, 19)}`, "warn", "nothing is done"},
		{"an item that has just come", `{ready: i === 29 ? 1 : 0, done: 7}`, "plain", "steady"},
		{"more and more", `{ready: 100 * i, done: 100 * i}`, "warn", "falling behind"},
		{"older and older", `{ready: 5000, done: i, oldest: 1.5 * i}`, "warn", "falling behind in age"},
		{"a little older", `{ready: 5000, done: i, oldest: i / 4}`, "plain", "steady"},
		{"a flood after a quiet time", `{ready: i < 20 ? 0 : 60000 - 100 * i, done: 100 * i}`, "warn", "falling behind"},
		{"a peak that is over", `{ready: i === 25 ? 60000 : 20, done: 100 * i}`, "plain", "up and down"},
		{"less and less", `{ready: 60000 - 1000 * i, done: 1000 * i}`, "good", "catching up"},
		{"less and less, but not recently", `{ready: i < 20 ? 60000 - 2000 * i : 20000, done: 1000 * i}`, "plain", "up and down"},
		{"less, and more again", `{ready: i < 20 ? 60000 - 3000 * i : 1000 * (i - 18), done: 1000 * i}`, "plain", "up and down"},
		{"less, and a step up at last", `{ready: i < 29 ? 60000 - 2000 * i : 50000, done: 1000 * i}`, "plain", "up and down"},
		{"an initial list, which grows older", `{ready: 60000 - 1000 * i, done: 1000 * i, oldest: 2 * i}`, "good", "catching up"},
		{"a list, and some adds", `{ready: 60000 - 60 * i, done: 80 * i, oldest: 2 * i}`, "good", "catching up"},
		{"a list, and nearly as many adds", `{ready: 60000 - 5 * i, done: 80 * i, oldest: 2 * i}`, "warn", "falling behind in age"},
		{"a list in large batches", `{ready: 60000, added: 60000, done: 100 * Math.floor(i / 20), oldest: 2 * i}`, "plain", "steady"},
		{"a list without workers or metrics", `{ready: 500, done: null, oldest: 2 * i}`, "warn", "falling behind in age"},
		{"a paused group, which grows older", `{ready: 500, done: 100 * i, oldest: 2 * i, throttled: 1}`, "plain", "steady"},
		{"a group that was paused", `{ready: 500, done: 100 * i, oldest: 2 * i, throttled: i < 20 ? 1 : 0}`, "plain", "steady"},
		{"a paused group, which grows", `{ready: 500 + 10 * i, done: 100 * i, oldest: 2 * i, throttled: 1}`, "warn", "falling behind"},
	} {
		got := evaluate[trend](b, `trend(Array.from({length: 30}, (_, i) => `+readings+`(i, `+c.readings+`)), 60000)`)
		require.Equal(t, [2]string{c.tone, c.verdict}, [2]string{got.Tone, got.Verdict}, c.name)
	}
	got := evaluate[trend](b, `trend(Array.from({length: 30}, (_, i) => `+readings+`(i, {ready: 100 * i, done: i})), 60000)`)
	require.Equal(t, trend{"warn", "falling behind", 2000, 58}, got)
	require.True(t, evaluate[bool](b, `trend([], 60000) === null`))
	require.True(t, evaluate[bool](b, `trend(Array.from({length: 30}, (_, i) => ({time: 2000 * i, ready: 29 - i, done: i})), 60000) === null`), "nothing is ready")
	require.True(t, evaluate[bool](b, `trend(Array.from({length: 5}, (_, i) => ({time: 2000 * i, ready: 1, done: 0})), 60000) === null`), "too few")
	require.True(t, evaluate[bool](b, `trend(Array.from({length: 30}, (_, i) => ({time: 20000 * i, ready: 1, done: 0})), 60000) === null`), "too old")
	b.requireNoComplaints()
}

// TestTrendOverTime follows queues for long, and checks that each has the same
// trend at all times.
func TestTrendOverTime(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{shardq.MustNew(shardq.Options[string]{Name: "q"})}}))
	for _, c := range []struct {
		name string
		// ready is the depth at first. Each second, perSecond items are done,
		// and adds are added, give or take chance.
		ready, perSecond, adds, chance float64
		seconds                        int
		verdict                        string
	}{
		{"a list at 40 a second", 20_000, 40, 0, 0, 450, "catching up"},
		{"a list at 10 a second", 20_000, 10, 0, 0, 1900, "catching up"},
		{"a large list", 1_000_000, 1000, 0, 0, 900, "catching up"},
		{"a list, and some adds", 20_000, 40, 10, 0, 450, "catching up"},
		{"more and more", 10_000, 40, 400, 0, 60, "falling behind"},
		{"steady", 5000, 100, 100, 0, 600, "steady"},
		{"steady, with chances", 5000, 100, 100, 10, 600, "steady"},
		{"steady and slow, with chances", 5000, 2, 2, 2, 600, "steady"},
	} {
		got := evaluate[[]string](b, fmt.Sprintf(`(() => {
			const all = [], verdicts = new Set();
			let [ready, done, seed] = [%v, 0, 1];
			const random = () => (seed = seed * 48271 %% 2147483647) / 2147483647 - 0.5;
			for (let i = 0; i < %v / 2; i++) {
				all.push(%s(i, {ready: Math.round(ready), done: Math.round(done), oldest: %v ? 2 : 2 * i}));
				if (i >= 5) verdicts.add(trend(all.slice(-151), 60000).verdict);
				ready += 2 * (%v + 2 * %v * random() - %v);
				done += 2 * %v;
			}
			return [...verdicts];
		})()`, c.ready, c.seconds, readings, c.adds == c.perSecond, c.adds, c.chance, c.perSecond, c.perSecond))
		require.Equal(t, []string{c.verdict}, got, c.name)
	}
}

// TestRefinedVerdicts checks how the trend changes the verdict of the server.
func TestRefinedVerdicts(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{shardq.MustNew(shardq.Options[string]{Name: "q"})}}))
	type also struct{ Tone, Text string }
	type refined struct {
		Tone, Text string
		Also       *also
	}
	for _, c := range []struct {
		name, found string
		want        refined
	}{
		{"working", "null", refined{Tone: "warn", Text: "said"}},
		{"working", `{tone: "good", verdict: "catching up"}`, refined{Tone: "good", Text: "catching up!"}},
		{"no workers", `{tone: "good", verdict: "catching up"}`, refined{Tone: "good", Text: "catching up!"}},
		{"no workers", `{tone: "warn", verdict: "nothing is done"}`, refined{Tone: "warn", Text: "said"}},
		{"full", `{tone: "warn", verdict: "nothing is done"}`, refined{"warn", "said", &also{"warn", "nothing is done!"}}},
		{"stuck", `{tone: "good", verdict: "catching up"}`, refined{"warn", "said", &also{"plain", "catching up!"}}},
		{"outage", `{tone: "good", verdict: "catching up"}`, refined{"warn", "said", &also{"plain", "catching up!"}}},
		{"paused", `{tone: "warn", verdict: "nothing is done"}`, refined{Tone: "warn", Text: "said"}},
		{"idle", "null", refined{Tone: "warn", Text: "said"}},
	} {
		got := evaluate[refined](b, `(({tone: Tone, text: Text, also}) => ({Tone, Text, Also: also && {Tone: also.tone, Text: also.text}}))(`+
			`refine({name: "`+c.name+`", tone: "warn", text: "said"}, `+c.found+`, (found) => found.verdict + "!"))`)
		require.Equal(t, c.want, got, c.name)
	}
}
