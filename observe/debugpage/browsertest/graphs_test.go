package browsertest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
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
	s.requireNoComplaints()
}

// TestGraphsDropOldReadings checks that a graph drops readings after five
// minutes, and all of them if another queue of the same name comes.
func TestGraphsDropOldReadings(t *testing.T) {
	s := newStepped(t, shardq.MustNew(shardq.Options[int]{Name: "q"}))
	graph := `.tile [data-graph="gauges.ready"]`
	at := func(ready, added float64) func(map[string]any) {
		return func(report map[string]any) {
			set(queueIn(report, 0), "gauges.ready", ready)
			set(queueIn(report, 0), "counters.added", added)
		}
	}
	s.step(time.Second, at(1000, 1))
	s.step(4*time.Minute, at(10, 1))
	s.step(time.Minute, at(5, 1)) // the first reading is too old, the second is not yet
	require.Equal(t, lineThrough([2]float64{0, 1}, [2]float64{80, 0.01}, [2]float64{100, 0.005}), s.line(graph))
	s.step(time.Second, at(10, 1))
	require.Equal(t, "Ready, last 1 m 01 s: 5 to 10, now 10", s.attributes(graph+" svg", "aria-label")[0])

	s.step(time.Second, at(7, 0))
	s.step(time.Second, at(14, 0))
	require.Equal(t, lineThrough([2]float64{0, 0.5}, [2]float64{100, 1}), s.line(graph))
	s.requireNoComplaints()
}

// TestHeatFollowsTheNumbers checks the colour, text and label of each cell, and
// the summary, for each quantity.
func TestHeatFollowsTheNumbers(t *testing.T) {
	s := newStepped(t, shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 4}))
	cells := `[data-heat] li span`
	quantities := []struct {
		name, field, unit     string
		values                []any
		classes, texts, words []string
		summary               string
	}{
		{
			"depth", "ready", "ready", []any{0, 1, 5000, 10000},
			[]string{"h0", "h1", "h5", "h9"}, []string{"0", "1", "5.0k", "10k"}, []string{"0", "1", "5,000", "10,000"},
			"Highest: shard 3, 10,000 ready, which is 2.6 times the mean.",
		},
		{
			"inflight", "processing", "in flight", []any{7, 0, 0, 1},
			[]string{"h9", "h0", "h0", "h2"}, []string{"7", "0", "0", "1"}, []string{"7", "0", "0", "1"},
			"Highest: shard 0, 7 in flight, which is 3.5 times the mean.",
		},
		{
			"delayed", "delayed", "delayed", []any{0, 0, 0, 0},
			[]string{"h0", "h0", "h0", "h0"}, []string{"0", "0", "0", "0"}, []string{"0", "0", "0", "0"},
			"All shards: nothing delayed.",
		},
		{
			"adds", "added", "of all adds", []any{0, 25, 60, 115}, // twice the mean is 100
			[]string{"h0", "h3", "h5", "h9"}, []string{"0%", "12%", "30%", "57%"}, []string{"0 %", "12 %", "30 %", "57 %"},
			"Highest: shard 3, 57 % of all adds, which is 2.3 times the mean.",
		},
	}
	numbers := func(report map[string]any) {
		for _, q := range quantities {
			set(queueIn(report, 0), "detail.shards."+q.field, q.values)
		}
	}
	check := func() {
		t.Helper()
		for _, q := range quantities {
			s.run(click(`[data-quantity="` + q.name + `"]`))
			require.Equal(t, q.classes, s.attributes(cells, "class"), q.name)
			require.Equal(t, q.texts, s.texts(cells), q.name)
			for i, title := range s.attributes(cells, "title") {
				require.Equal(t, fmt.Sprintf("shard %d: %s %s", i, q.words[i], q.unit), title)
			}
			require.Equal(t, s.attributes(cells, "title"), s.attributes(cells, "aria-label"))
			require.Equal(t, q.summary, s.text("[data-heat-summary]"))
			require.Regexp(t, regexp.QuoteMeta("shards="+q.name), evaluate[string](s.tab, "location.search"), "a link to it can be copied")
		}
	}
	s.step(time.Second, numbers)
	check()
	s.run(click(`[data-quantity="inflight"]`))
	s.step(time.Second, func(report map[string]any) { set(queueIn(report, 0), "detail.shards.processing", []any{0, 8, 4, 0}) })
	require.Equal(t, []string{"h0", "h9", "h5", "h0"}, s.attributes(cells, "class"), "the choice stays")
	s.step(time.Second, numbers)
	check()
	s.requireNoComplaints()
}
