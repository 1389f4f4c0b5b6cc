package browsertest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

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

// TestVerdictOfAQueueWithoutConsumers checks the verdict in the page.
func TestVerdictOfAQueueWithoutConsumers(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Capacity: 2})
	q.Add("first")
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}))
	b.waitForText(".verdict", "no workers: 1 ready")
	require.Equal(t, "bad", b.attributes(".verdict", "data-tone")[0])
	q.Add("second")
	b.waitForText(".verdict", "full: 2 of 2")
	b.waitFor(`document.querySelector(".trend").textContent.startsWith("nothing is done in ")`)
	for range 2 {
		item, _ := q.Get()
		q.Done(item)
	}
	b.waitForText(".verdict", "idle")
	require.Equal(t, "good", b.attributes(".verdict", "data-tone")[0])
	require.True(t, evaluate[bool](b, `document.querySelector(".trend").hidden`))
	b.requireNoComplaints()
}
