package debugpage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares an answer with a golden file.
func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", name)
	if *update {
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

// reportOutcomes reports attempts to a queue as a worker does.
func reportOutcomes(q *shardq.Queue[string]) {
	owner := engine.Of(q).Owner
	attempts, failures := owner.(worker.AttemptReporter[string]), owner.(worker.Reporter[string])
	for result, n := range map[stats.Result]int{stats.Succeeded: 6, stats.Failed: 1, stats.Panicked: 1, stats.Discarded: 2} {
		for range n {
			attempts.ReportAttempt(worker.Report[string]{Item: "acme/1", Result: result, Duration: time.Duration(1+result) * time.Second, Worker: 1})
		}
	}
	attempts.ReportAttempt(worker.Report[string]{Item: "globex/1", Result: stats.Succeeded, Duration: time.Second})
	ctx := context.Background()
	failures.ReportFailure(ctx, worker.Failure[string]{Item: "acme/1", Err: errors.New("connection refused"), Attempt: 2}, nil)
	failures.ReportFailure(ctx, worker.Failure[string]{Item: "globex/1", Err: errors.New("panic"), Attempt: 1}, &worker.PanicError{Value: "index out of range"})
	failures.ReportDiscard(ctx, worker.Failure[string]{Item: "initech/\xff", Err: errors.New("first line\nsecond line"), Attempt: 5, Final: true, Reason: worker.ReasonExhausted}, nil)
}

// counting returns a coalescer with two pending keys, of which one has been put
// three times, and one taken. The other has two events of a source.
func counting(t *testing.T) *coalesce.Coalescer[string, int] {
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Queue:    shardq.Options[string]{Name: "clicks", Shards: 1, Metrics: true, Clock: newFake()},
		Merge:    func(pending, next int) int { return pending + next },
		Weight:   func(value int) int { return value },
		Capacity: 1500,
	})
	require.NoError(t, c.Put("taken", 7))
	_, _, err := c.Take(t.Context())
	require.NoError(t, err)
	for _, value := range []int{1000, 200, 34} {
		require.NoError(t, c.Put("home", value))
	}
	log, err := c.NewSource("log", 100)
	require.NoError(t, err)
	require.NoError(t, log.Put("about", 200, 105))
	require.NoError(t, log.Put("about", 66, 107))
	return c
}

// TestGolden compares the formats that programs and people rely on. If a name
// or a meaning in the JSON changes, the version of the schema must change.
func TestGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the time is fixed
		show := func(name string, queues ...shardq.Inspector) {
			h := must(t, Options{Title: "Billing", Queues: queues})
			h.(*handler).names.handler = "handler" // which varies otherwise
			golden(t, name+".json", indented(t, get(t, h, "?format=json")))
			golden(t, name+".txt", get(t, h, "?format=text"))
		}
		show("queue", eventful(t))
		show("overview", eventful(t), shardq.MustNew(shardq.Options[string]{Name: "plain", Shards: 1}), broken{})
		show("coalescer", counting(t).Queue())
		show("coalescer", counting(t))
	})
}

func indented(t *testing.T, text string) string {
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(text), "", "  "))
	return regexp.MustCompile(`"id": "[0-9a-f]{16}"`).ReplaceAllString(b.String(), `"id": "random"`)
}

func TestOldestOfAllShards(t *testing.T) {
	s := shardq.Stats{PerShard: []stats.Shard{{OldestReady: 3e9, OldestProcessing: 5e9}, {}}}
	g := (&reading{options: stats.Configuration{Ages: true}, stats: s}).gauges()
	require.Equal(t, []any{seconds(3), seconds(5)}, []any{g["oldestReadySeconds"], g["oldestProcessingSeconds"]})
}

// TestWhatIsMissing checks that the page says what a queue does not keep and
// how to turn it on, and shows the rest.
func TestWhatIsMissing(t *testing.T) {
	fake := newFake()
	all := []string{metricsMissing, agesMissing, groupsMissing, limiterMissing}
	for _, c := range []struct {
		options shardq.Options[string]
		missing []string
	}{
		{shardq.Options[string]{}, []string{metricsMissing, agesMissing, groupsMissing}},
		{shardq.Options[string]{Ages: true}, []string{metricsMissing, groupsMissing}},
		{shardq.Options[string]{Metrics: true, Group: strings.ToUpper}, nil},
		{shardq.Options[string]{Metrics: true, RateLimiter: silent{limiter.NewExponential[string](1, 1)}}, []string{groupsMissing, limiterMissing}},
	} {
		c.options.Clock = fake
		q := shardq.MustNew(c.options)
		q.AddBatch([]string{"some item", "other item"}, shardq.AddOptions{})
		take(t, q)
		fake.Step(185 * time.Second)
		h := Handler(q)
		for _, format := range []string{asHTML, asText} {
			body := get(t, h, "?format="+format)
			require.Contains(t, body, "some item")
			for _, text := range all {
				require.Equal(t, slices.Contains(c.missing, text), strings.Contains(body, text), text)
			}
			require.Equal(t, !slices.Contains(c.missing, agesMissing), strings.Contains(body, "3 m 05 s"))
		}
		r := getQueue(t, h, "")
		require.Equal(t, slices.Contains(c.missing, metricsMissing), r.Detail.Durations == nil)
		require.Equal(t, slices.Contains(c.missing, metricsMissing), r.Counters["retries"] == nil)
		require.Equal(t, slices.Contains(c.missing, agesMissing), r.Gauges["oldestReadySeconds"] == nil)
		require.Equal(t, slices.Contains(c.missing, agesMissing), r.Detail.Shards["oldestReadySeconds"] == nil)
		require.Equal(t, slices.Contains(c.missing, limiterMissing), r.Gauges["limited"] == nil)
	}
}

// A silent limiter does not report its failures.
type silent struct{ limiter.Limiter[string] }

func TestRowsAreLimited(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Metrics: true, Clock: newFake(), Group: func(item string) string { return item }})
	for i := range 400 {
		q.Add(fmt.Sprint(i))
		q.AddRateLimited(fmt.Sprint(i + 1000))
		if i%2 == 0 {
			take(t, q)
		}
	}
	for query, rows := range map[string]int{"": 60, "&rows=7": 7} {
		d := getQueue(t, must(t, Options{Queues: []shardq.Inspector{q}, MaxRows: 60}), query).Detail
		for _, list := range [][]entry{d.Processing, d.Ready, d.Delayed, d.Retried, d.Groups} {
			require.Len(t, list, rows)
		}
	}
	require.Len(t, getQueue(t, Handler(q), "").Detail.Groups, 25)
}

// TestHistograms checks that no duration is lost between the buckets, and that
// durations beyond the last bound are shown as such.
func TestHistograms(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Metrics: true, Clock: fake, Tick: 100 * time.Millisecond})
	h := Handler(q)
	require.Contains(t, get(t, h, ""), `data-chart="detail.timeLeft" data-name="Time left" data-fleeting hidden>`)
	for i, d := range []time.Duration{1, time.Millisecond, time.Millisecond, time.Second, 13 * 24 * time.Hour} {
		q.AddAfter(fmt.Sprint(i), d)
	}
	d := getQueue(t, h, "").Detail
	delays, sum := d.Durations.Delay, uint64(0)
	for _, b := range delays.Buckets {
		sum += b.Count
	}
	require.EqualValues(t, []uint64{5, 5}, []uint64{sum, delays.Count})
	require.NotZero(t, delays.Buckets[0].Count)
	require.Nil(t, delays.Buckets[len(delays.Buckets)-1].AtMostSeconds)
	require.Nil(t, delays.P99Seconds)
	require.Contains(t, get(t, h, ""), "&gt; 12 d 03 h")
	require.Equal(t, bucket{0.125, 3}, d.TimeLeft.Buckets[0], "what expires within a tick is in one bucket")

	for i := range 4 { // their sum is beyond counting
		q.Add(fmt.Sprint(i + 10))
		item := take(t, q)
		fake.Step(100 * 365 * 24 * time.Hour)
		q.Done(item)
	}
	work := getQueue(t, h, "").Detail.Durations.Work
	require.EqualValues(t, 4, work.Count)
	require.Nil(t, work.MeanSeconds)
	require.Contains(t, get(t, h, ""), "At work: 4 durations, half of them longer than 12 d 03 h")
}

// TestQueuesComeAndGo checks queues that are listed for a while, and a list
// that is too long.
func TestQueuesComeAndGo(t *testing.T) {
	queues := []shardq.Inspector{newQueue("second")}
	h := must(t, Options{
		Queues: []shardq.Inspector{newQueue("first")},
		List:   func() []shardq.Inspector { return queues },
	})
	require.Len(t, getReport(t, h, "").Queues, 2)
	get(t, h, "?queue=second")
	queues = nil
	require.NotNil(t, getQueue(t, h, "").Detail, "the only one")
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

// faultyTimeLeft panics only in TimeLeft.
type faultyTimeLeft struct{ stats.Inspection }

func (faultyTimeLeft) TimeLeft() stats.Histogram { panic("nothing is left") }

// TestQueueThatPanics checks that the page says so in place of the queue, shows
// the other queues, and leaves no lock held.
func TestQueueThatPanics(t *testing.T) {
	const text = "reading this queue panicked"
	h := Handler(broken{}, newQueue("sound"))
	require.Contains(t, get(t, h, ""), "sound")
	for _, query := range []string{"?format=text", "?queue=broken", "?queue=broken&format=text"} {
		require.Contains(t, get(t, h, query), text)
	}
	ill := &brokenClock{Clock: newFake()}
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Clock: ill})
	q.AddAfter("1", time.Hour)
	for queue, panics := range map[shardq.Inspector]bool{q: true, inspected{q, faultyTimeLeft{q.Inspect()}}: false} {
		ill.panics = panics
		r := getQueue(t, Handler(queue), "")
		require.Equal(t, text, r.Fault)
		require.Nil(t, r.Detail)
	}
	ill.panics = false
	require.EqualValues(t, 1, getQueue(t, Handler(q), "").Detail.TimeLeft.Count)
}

// TestLingersAndOutages checks the values of a coalescer that the golden file
// does not have.
func TestLingersAndOutages(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{Clock: newFake()}, Linger: time.Minute,
		Merge: func(pending, next int) int { return pending + next },
	})
	h := Handler(c.Queue())
	require.NotContains(t, get(t, h, ""), " of 0")
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, c.Put(key, 1))
	}
	c.Cancel("c")
	q := getQueue(t, h, "")
	require.EqualValues(t, []any{2., 1.}, []any{q.Values["lingering"], q.Counters["canceled"]})
	require.NoError(t, c.PutWith("a", 1, coalesce.PutOptions{Delay: -1}))
	claim, err := c.Claim(t.Context())
	require.NoError(t, err)
	failures := claim.Owner().(worker.Reporter[coalesce.Entry[string, int]])
	for range 6 {
		failures.ReportFailure(t.Context(), worker.Failure[coalesce.Entry[string, int]]{Err: errors.New("down")}, nil)
	}
	q = getQueue(t, h, "")
	require.EqualValues(t, []any{1., 6., 1.}, []any{q.Values["lingering"], q.Gauges["outageFailures"], q.Counters["outages"]})
}

func TestEmptyQueues(t *testing.T) {
	h := Handler(shardq.MustNew(shardq.Options[string]{Metrics: true, Group: strings.ToUpper}))
	body := get(t, h, "")
	for _, want := range []string{"Nothing is in flight.", "Nothing is ready.", "Nothing is delayed.", "Nothing has failed since its last success.", "No group has items.", "unnamed"} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, ` data-value="values.`)
	text := get(t, h, "?format=json")
	for _, list := range []string{"processing", "ready", "delayed", "retried", "groups", "attempts", "attemptsByGroup", "failures", "discards"} {
		require.Contains(t, text, `"`+list+`":[]`, "an empty list is a list")
	}
	require.Contains(t, get(t, Handler(), ""), "There are no queues.")
	require.Contains(t, get(t, Handler(), "?format=json"), `"queues":[]`)
}
