package debugpage

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares an answer with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update writes it")
}

// eventful returns a queue with something in every state.
func eventful(t *testing.T) *shardq.Queue[string] {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{
		Name: "invoices", Shards: 2, StableRouting: true, Clock: fake, Metrics: true, Capacity: 100,
		Group:       func(item string) string { tenant, _, _ := strings.Cut(item, "/"); return tenant },
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 2} }, LowPriorityInterval: 10,
		StuckAfter: time.Minute, OnStuck: func(stats.Item[string]) {},
		RateLimiter: limiter.NewExponential[string](time.Second, time.Minute),
	})
	q.Add("acme/1")
	require.Equal(t, "acme/1", take(t, q))
	q.Add("acme/1") // dirty
	fake.Step(90 * time.Second)
	for i := range 5 {
		q.Add(fmt.Sprintf("globex/%d", i))
		fake.Step(1500 * time.Microsecond)
	}
	q.Add("globex/0") // deduplicated
	q.AddWith("initech/\xff", shardq.AddOptions{Priority: 3})
	take(t, q)
	take(t, q)
	fake.Step(40 * time.Millisecond)
	q.Done("globex/0")
	q.AddAfter("acme/later", time.Hour)
	for range 3 {
		q.AddRateLimited("acme/failing")
	}
	q.Cancel("globex/4")
	q.Done("never handed out")
	reportOutcomes(q)
	return q
}

// TestGolden compares the formats that programs and people rely on. If a name
// or a meaning in the JSON changes, the version of the schema must change.
func TestGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the time is fixed
		h := reproducible(must(t, Options{Queues: []shardq.Inspector{eventful(t)}}))
		golden(t, "queue.json", indented(t, get(t, h, "?format=json")))
		golden(t, "queue.txt", get(t, h, "?format=text"))

		h = reproducible(must(t, Options{Title: "Billing", Queues: []shardq.Inspector{
			eventful(t), shardq.MustNew(shardq.Options[int]{Name: "plain", Shards: 1}), broken{},
		}}))
		golden(t, "overview.json", indented(t, get(t, h, "?format=json")))
		golden(t, "overview.txt", get(t, h, "?format=text"))
	})
}

// reproducible returns a handler whose answers do not vary.
func reproducible(h http.Handler) http.Handler {
	h.(*handler).names.handler = "handler"
	return h
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(text), "", "  "))
	return regexp.MustCompile(`"id": "[0-9a-f]{16}"`).ReplaceAllString(b.String(), `"id": "random"`)
}

// TestTablesAgreeWithTheReport checks that the field of each heading, which the
// script shows, has the value of the column, which the server shows.
func TestTablesAgreeWithTheReport(t *testing.T) {
	h := Handler(eventful(t))
	r := getReport(t, h, "").Queues[0]
	rows := 0
	agree := func(fields any, format string, path string, value any) {
		var generic any
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &generic))
		for name := range strings.SplitSeq(path, ".") {
			values := generic.(map[string]any)
			require.Contains(t, values, name)
			generic = values[name]
		}
		want, err := json.Marshal(value)
		require.NoError(t, err)
		got, err := json.Marshal(generic)
		require.NoError(t, err)
		if format != asGraph && format != asRate {
			require.JSONEq(t, string(want), string(got), path)
		}
		rows++
	}
	for _, c := range overviewColumns {
		agree(r, c.Format, c.Field, c.value(r))
	}
	for _, c := range append(r.Detail.itemColumns(keyColumn, ageColumn("", true), attemptColumn, workerColumn, dirtyColumn), dueColumn) {
		agree(r.Detail.Processing[0], c.Format, c.Field, c.value(r.Detail.Processing[0]))
	}
	for _, c := range retriedColumns {
		agree(r.Detail.Retried[0], c.Format, c.Field, c.value(r.Detail.Retried[0]))
	}
	for _, c := range groupColumns {
		agree(r.Detail.Groups[0], c.Format, c.Field, c.value(r.Detail.Groups[0]))
	}
	for _, c := range attemptsColumns {
		agree(r.Detail.Attempts[0], c.Format, c.Field, c.value(r.Detail.Attempts[0]))
	}
	for _, c := range groupAttemptsColumns {
		agree(r.Detail.AttemptsByGroup[0], c.Format, c.Field, c.value(r.Detail.AttemptsByGroup[0]))
	}
	for _, c := range discardedColumns {
		agree(r.Detail.Discards[0], c.Format, c.Field, c.value(r.Detail.Discards[0]))
	}
	for _, g := range r.facts() {
		agree(r, g.Format, g.Field, g.Value)
	}
	for _, c := range r.counted() {
		agree(r, asCount, c.Field, c.Value)
	}
	coalescer := getReport(t, Handler(counting(t).Queue()), "").Queues[0]
	for _, g := range coalescer.facts() {
		agree(coalescer, g.Format, g.Field, g.Value)
	}
	for _, c := range coalescer.counted() {
		agree(coalescer, asCount, c.Field, c.Value)
	}
	require.Len(t, r.counted(), reflect.TypeFor[counters]().NumField(), "each has its row")
	require.Greater(t, rows, 50)
}

// TestWithoutMetrics checks that the page says what is missing and how to turn
// it on, and shows the rest.
func TestWithoutMetrics(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "plain"})
	q.Add("some item")
	q.Add("other item")
	take(t, q)
	h := Handler(q)
	for _, format := range []string{asHTML, asText} {
		body := get(t, h, "?format="+format)
		for _, want := range []string{metricsMissing, agesMissing, groupsMissing, "some item", "other item"} {
			require.Contains(t, body, want, format)
		}
	}
	r := getReport(t, h, "").Queues[0]
	require.Nil(t, r.Detail.Durations)
	require.Nil(t, r.Counters.Retries)
	require.Nil(t, r.Gauges.OldestReadySeconds)
	require.Nil(t, r.Detail.Shards.OldestReadySeconds)
	require.Len(t, r.Detail.Processing, 1)
	require.Nil(t, r.Detail.Processing[0].AgeSeconds)

	full := Handler(shardq.MustNew(shardq.Options[string]{Metrics: true, Group: func(s string) string { return s }}))
	for _, unwanted := range []string{metricsMissing, agesMissing, groupsMissing} {
		require.NotContains(t, get(t, full, ""), unwanted)
	}
}

func TestAgesWithoutMetrics(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Ages: true, Clock: fake})
	q.Add("old")
	fake.Step(185 * time.Second)
	body := get(t, Handler(q), "")
	require.Contains(t, body, "3 m 05 s")
	require.Contains(t, body, metricsMissing)
	require.NotContains(t, body, agesMissing)
}

// A silentLimiter does not report its failures.
type silentLimiter struct{ limiter.Limiter[string] }

func TestLimiterWithoutCensus(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{RateLimiter: silentLimiter{limiter.NewExponential[string](time.Second, time.Minute)}})
	q.AddRateLimited("failing")
	require.Nil(t, getReport(t, Handler(q), "").Queues[0].Gauges.Limited)
	require.Contains(t, get(t, Handler(q), ""), limiterMissing)
}

func TestEmptyQueues(t *testing.T) {
	h := Handler(shardq.MustNew(shardq.Options[string]{Metrics: true, Group: func(s string) string { return s }}))
	body := get(t, h, "")
	for _, want := range []string{"Nothing is in flight.", "Nothing is ready.", "Nothing is delayed.", "Nothing has failed.", "No group has items.", "unnamed"} {
		require.Contains(t, body, want)
	}
	text := get(t, h, "?format=json")
	for _, list := range []string{"processing", "ready", "delayed", "retried", "groups"} {
		require.Contains(t, text, `"`+list+`":[]`, "an empty list is a list")
	}
	require.Contains(t, get(t, Handler(), ""), "There are no queues.")
	require.Contains(t, get(t, Handler(), "?format=json"), `"queues":[]`)
}

func TestShutdown(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true})
	h := Handler(q)
	state := func() string { return getReport(t, h, "").Queues[0].State }
	q.Add("last")
	require.Equal(t, "running", state())
	q.ShutDown()
	require.Equal(t, "shutting down", state())
	require.True(t, strings.Contains(get(t, h, ""), `data-tone="bad">no workers: 1 ready<`))
	q.Done(take(t, q))
	require.Equal(t, "drained", state())
	require.Contains(t, get(t, h, "?format=text"), "q: drained")
}

func TestRowsAreLimited(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Metrics: true, Clock: newFake(), Group: func(i int) string { return fmt.Sprint(i) }})
	for i := range 400 {
		q.Add(i)
		q.AddRateLimited(i + 1000)
		if i%2 == 0 {
			take(t, q)
		}
	}
	for query, rows := range map[string]int{"": 60, "&rows=7": 7} {
		d := getReport(t, must(t, Options{Queues: []shardq.Inspector{q}, MaxRows: 60}), query).Queues[0].Detail
		require.Len(t, d.Processing, rows)
		require.Len(t, d.Ready, rows)
		require.Len(t, d.Delayed, rows)
		require.Len(t, d.Retried, rows)
		require.Len(t, d.Groups, rows)
	}
	require.Len(t, getReport(t, Handler(q), "").Queues[0].Detail.Groups, DefaultMaxRows)
}

// TestTopGroups checks that the page shows the groups with the most ready
// items, in order.
func TestTopGroups(t *testing.T) {
	queue := groupsOnly{}
	for i := range 1000 {
		n := i * 7919 % 1000 // each number once, shuffled
		queue.infos = append(queue.infos, stats.Group{Group: fmt.Sprint(n), Ready: n / 2, Processing: n % 2})
	}
	top := reader{options: Options{}, rows: 3}.topGroups(queue)
	require.Equal(t, []stats.Group{
		{Group: "999", Ready: 499, Processing: 1}, {Group: "998", Ready: 499}, {Group: "997", Ready: 498, Processing: 1},
	}, top)
}

// TestNames checks that each queue can be selected, also if it shares a name or
// has none.
func TestNames(t *testing.T) {
	var queues []shardq.Inspector
	for i, name := range []string{"", "", "a", "a", "a #2", "<b>", strings.Repeat("x", 1000)} {
		q := shardq.MustNew(shardq.Options[int]{Name: name, Shards: i + 1})
		queues = append(queues, q)
	}
	h := Handler(queues...)
	all := getReport(t, h, "").Queues
	require.Len(t, all, 7)
	ids := []string{}
	for i, q := range all {
		ids = append(ids, q.ID)
		require.Nil(t, q.Detail)
		r := request("GET", "")
		values := r.URL.Query()
		values.Set("queue", q.ID)
		values.Set("format", "json")
		r.URL.RawQuery = values.Encode()
		var selected report
		require.NoError(t, json.Unmarshal(ask(h, r).Body.Bytes(), &selected))
		require.Equal(t, i+1, selected.Queues[0].Detail.Configuration.Shards)
	}
	require.Equal(t, []string{"unnamed", "unnamed #2", "a", "a #2", "a #2 #2", "<b>"}, ids[:6])
}

// TestManyOfOneName checks that naming takes a few steps for each queue, not
// one for each pair. A name that looks numbered is not assigned again.
func TestManyOfOneName(t *testing.T) {
	const n = 2000
	var queues []shardq.Inspector
	for range n {
		queues = append(queues, broken{})
	}
	allocations := testing.AllocsPerRun(1, func() { new(names).nameAll(queues) })
	require.Less(t, allocations, 20.0*n)
	d := new(names).nameAll(queues)
	require.Len(t, d.byID, n)
	require.Equal(t, "broken", d.all[0].id)
	require.Equal(t, "broken #2", d.all[1].id)
	last, err := d.find("broken #2000")
	require.NoError(t, err)
	require.Equal(t, d.all[n-1], last)
	_, err = d.find("broken #2001")
	require.ErrorContains(t, err, "there is no queue broken #2001")
}

// TestListedQueues checks queues that come and go.
func TestListedQueues(t *testing.T) {
	queues := []shardq.Inspector{shardq.MustNew(shardq.Options[int]{Name: "second"})}
	h := must(t, Options{
		Queues: []shardq.Inspector{shardq.MustNew(shardq.Options[int]{Name: "first"})},
		List:   func() []shardq.Inspector { return queues },
	})
	require.Len(t, getReport(t, h, "").Queues, 2)
	get(t, h, "?queue=second")
	queues = nil
	require.NotNil(t, getReport(t, h, "").Queues[0].Detail, "the only one")
	require.Equal(t, 400, ask(h, request("GET", "?queue=second")).Code)

	for range maxQueues + 5 {
		queues = append(queues, nil)
	}
	r := getReport(t, h, "")
	require.Len(t, r.Queues, maxQueues)
	require.Equal(t, 6, r.NotShown)
	require.Equal(t, "unknown", r.Queues[1].State, "nil is no queue")
	require.Contains(t, get(t, h, "?format=text"), "and 6 more")
}

// TestQueueThatPanics checks that the page shows the other queues.
func TestQueueThatPanics(t *testing.T) {
	h := Handler(broken{}, shardq.MustNew(shardq.Options[int]{Name: "sound"}))
	for _, query := range []string{"", "?format=text", "?queue=broken", "?queue=broken&format=text"} {
		body := get(t, h, query)
		require.Contains(t, body, "broken")
		if query != "" {
			require.Contains(t, body, "reading this queue panicked")
		}
	}
	require.Contains(t, get(t, h, ""), "sound")
	require.Contains(t, get(t, Handler(broken{}), ""), "reading this queue panicked")
}

func TestHeat(t *testing.T) {
	m := newHeatMap("depth", shardsReport{Ready: []int{0, 1, 50, 100}})
	require.Equal(t, []heatCell{
		{0, "0", "shard 0: 0 ready"}, {1, "1", "shard 1: 1 ready"}, {5, "50", "shard 2: 50 ready"}, {9, "100", "shard 3: 100 ready"},
	}, m.Cells)
	require.Equal(t, "Highest: shard 3, 100 ready, which is 2.6 times the mean.", m.Summary)
	alike := newHeatMap("adds", shardsReport{Added: []uint64{1000, 1000, 1000, 1000}})
	require.Equal(t, heatCell{5, "25%", "shard 0: 25 % of all adds"}, alike.Cells[0])
	require.Equal(t, "All shards: nothing delayed.", newHeatMap("delayed", shardsReport{Delayed: []int{0}}).Summary)
	require.True(t, newHeatMap("depth", shardsReport{Ready: make([]int, 4096)}).Dense)
}

// TestHistograms checks that no duration is lost between the buckets, and that
// durations beyond the last bound are shown as such.
func TestHistograms(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{Metrics: true, Clock: fake})
	for i, d := range []time.Duration{1, time.Millisecond, time.Millisecond, time.Second, 13 * 24 * time.Hour} {
		q.AddAfter(i, d)
	}
	delays := getReport(t, Handler(q), "").Queues[0].Detail.Durations.Delay
	sum := uint64(0)
	for _, b := range delays.Buckets {
		sum += b.Count
	}
	require.EqualValues(t, 5, sum)
	require.EqualValues(t, 5, delays.Count)
	require.NotZero(t, delays.Buckets[0].Count)
	require.Nil(t, delays.Buckets[len(delays.Buckets)-1].AtMostSeconds)
	require.Nil(t, delays.P99Seconds)
	require.Contains(t, get(t, Handler(q), ""), "&gt; 12 d 03 h")
}

// TestTimeLeft checks that the time left of delays is shown separately from the
// requested delays, also without metrics, and only while an item is delayed.
// Delays that are overdue or due within a tick are in one bucket.
func TestTimeLeft(t *testing.T) {
	for _, metrics := range []bool{true, false} {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Metrics: metrics, Clock: fake, Tick: 100 * time.Millisecond})
		h := Handler(q)
		require.Zero(t, getReport(t, h, "").Queues[0].Detail.TimeLeft.Count)
		require.Contains(t, get(t, h, ""), `data-chart="detail.timeLeft" data-name="Time left" data-fleeting hidden>`)
		require.NotContains(t, get(t, h, "?format=text"), "Time left")

		for i := range 3 {
			q.AddAfter(i, 100*time.Second)
		}
		fake.Step(70 * time.Second)
		q.AddAfter(3, 50*time.Millisecond)
		detail := getReport(t, h, "").Queues[0].Detail
		require.EqualValues(t, 4, detail.TimeLeft.Count)
		require.EqualValues(t, 0.125, *detail.TimeLeft.Buckets[0].AtMostSeconds)
		require.EqualValues(t, 1, detail.TimeLeft.Buckets[0].Count)
		last := detail.TimeLeft.Buckets[len(detail.TimeLeft.Buckets)-1]
		require.EqualValues(t, 32, *last.AtMostSeconds)
		require.EqualValues(t, 3, last.Count)
		if metrics {
			asked := detail.Durations.Delay.Buckets
			require.EqualValues(t, 128, *asked[len(asked)-1].AtMostSeconds)
		}
		require.Contains(t, get(t, h, ""), `data-chart="detail.timeLeft" data-name="Time left" data-fleeting>`)
		require.Contains(t, get(t, h, ""), `aria-label="Time left: 4 durations, half of them at most 32 s"`)
		require.Contains(t, get(t, h, "?format=text"), "Time left of all running delays: 4, mean 22 s, p50 32 s, ")
	}
}

// A brokenClock panics while its test wants that.
type brokenClock struct {
	clock.Clock
	panics bool
}

func (c *brokenClock) Now() time.Time {
	if c.panics {
		panic("no time")
	}
	return c.Clock.Now()
}

// A faultyTimeLeft panics only in TimeLeft.
type faultyTimeLeft struct{ stats.Inspection }

func (faultyTimeLeft) TimeLeft() stats.Histogram { panic("nothing is left") }

// TestClockThatPanics checks that the page says so in place of the queue, shows
// the other queues, and leaves no lock held.
func TestClockThatPanics(t *testing.T) {
	broken := &brokenClock{Clock: newFake()}
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Clock: broken})
	q.AddAfter(1, time.Hour)
	for queue, panics := range map[shardq.Inspector]bool{q: true, altered{q, faultyTimeLeft{q.Inspect()}}: false} {
		broken.panics = panics
		r := getReport(t, Handler(queue), "").Queues[0]
		require.Equal(t, "reading this queue panicked", r.Fault)
		require.Nil(t, r.Detail)
	}
	broken.panics = false
	require.EqualValues(t, 1, getReport(t, Handler(q), "").Queues[0].Detail.TimeLeft.Count)
}

// TestPageBesideWork reads the page beside all other operations, also under
// the race detector.
func TestPageBesideWork(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Metrics: true, Group: func(i int) string { return fmt.Sprint(i % 7) }})
	h := Handler(q)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		for i := range 2000 {
			q.Add(i)
			q.AddAfter(i, time.Hour)
			q.AddRateLimited(i)
			item, _ := q.Get()
			q.Done(item)
		}
		q.ShutDown()
		for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
			q.Done(item)
		}
	}()
	for looking := true; looking; {
		select {
		case <-worked:
			looking = false
		default:
		}
		get(t, h, "")
		get(t, h, "?format=json")
	}
	require.Equal(t, "drained", getReport(t, h, "").Queues[0].State)
}

// TestSumBeyondCounting checks that the mean is unknown, and the median is
// beyond the last bound.
func TestSumBeyondCounting(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Metrics: true, Clock: fake})
	for i := range 4 {
		q.Add(i)
		item := take(t, q)
		fake.Step(100 * 365 * 24 * time.Hour)
		q.Done(item)
	}
	work := getReport(t, Handler(q), "").Queues[0].Detail.Durations.Work
	require.EqualValues(t, 4, work.Count)
	require.Nil(t, work.MeanSeconds)
	require.Equal(t, unknown, work.mean())
	require.Contains(t, get(t, Handler(q), ""), "At work: 4 durations, half of them longer than 12 d 03 h")
}
