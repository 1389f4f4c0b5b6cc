package browsertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/stats"
)

// A moody queue panics while its test wants that.
type moody struct {
	shardq.Inspector
	panics *atomic.Bool
}

func (m moody) Inspect() stats.Inspection {
	if m.panics.Load() {
		panic("moody")
	}
	return m.Inspector.Inspect()
}

// TestQueueThatComesAndGoes checks that the page stays with its queue, says
// that it is gone, and starts again when there is a queue of that name.
func TestQueueThatComesAndGoes(t *testing.T) {
	b := newTab(t)
	first := shardq.MustNew(shardq.Options[string]{Name: "first", Shards: 4})
	other := shardq.MustNew(shardq.Options[string]{Name: "other"})
	var listed atomic.Pointer[[]shardq.Inspector]
	list := func(queues ...shardq.Inspector) { listed.Store(&queues) }
	list(first)
	b.open(serve(t, debugpage.Options{List: func() []shardq.Inspector { return *listed.Load() }}))
	connection := `document.getElementById("connection").dataset.connection === `
	b.run(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))

	list(other, first)
	first.Add("beside the other")
	b.waitForText(`.tile b[data-value="gauges.ready"]`, "1")
	require.True(t, evaluate[bool](b, connection+`"live"`))

	list(other)
	b.waitFor(connection + `"away"`)
	require.Contains(t, b.text("#connection"), "the queue is unavailable (400: there is no queue first: it may be closed, or have another name); trying again.")
	require.Equal(t, "the queue is unavailable", b.text("#announcer"))
	require.Equal(t, "first", b.text("#name"))

	list(shardq.MustNew(shardq.Options[string]{Name: "first", Shards: 8}))
	b.waitFor(`window.sameDocument === undefined && document.querySelectorAll("[data-heat] li").length === 8 && ` + connection + `"live"`)
}

// TestQueueThatIsReplaced replaces the queue, between two answers, by one of
// the same name with another configuration.
func TestQueueThatIsReplaced(t *testing.T) {
	b := newTab(t)
	var listed atomic.Pointer[shardq.Queue[string]]
	listed.Store(shardq.MustNew(shardq.Options[string]{Name: "q", Shards: 4}))
	b.open(serve(t, debugpage.Options{List: func() []shardq.Inspector { return []shardq.Inspector{listed.Load()} }}))
	listed.Store(shardq.MustNew(shardq.Options[string]{Name: "q", Shards: 8}))
	b.waitFor(`document.querySelectorAll("[data-heat] li").length === 8 && document.documentElement.classList.contains("updating")`)
	b.requireNoComplaints()
}

func TestQueueThatPanicsForAWhile(t *testing.T) {
	b := newTab(t)
	q := moody{shardq.MustNew(shardq.Options[string]{Name: "q"}), new(atomic.Bool)}
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}))
	q.panics.Store(true)
	connection := `document.getElementById("connection")?.dataset.connection === `
	b.waitFor(connection + `"away"`)
	require.Contains(t, b.text("#connection"), "the queue is unavailable (reading this queue panicked); trying again.")
	b.run(chromedp.Reload()) // from the start
	b.waitFor(connection + `"away"`)
	require.False(t, evaluate[bool](b, `!!document.querySelector(".tiles")`))
	q.panics.Store(false)
	b.waitFor(`!!document.querySelector(".tiles") && ` + connection + `"live"`)
	b.requireNoComplaints()
}

// TestOnlyQueueIsReplaced replaces the queue by one of another name, to
// which the page links.
func TestOnlyQueueIsReplaced(t *testing.T) {
	b := newTab(t)
	var listed atomic.Pointer[shardq.Queue[string]]
	listed.Store(shardq.MustNew(shardq.Options[string]{Name: "first"}))
	b.open(serve(t, debugpage.Options{List: func() []shardq.Inspector { return []shardq.Inspector{listed.Load()} }}))
	link := `document.getElementById("elsewhere").checkVisibility()`
	require.False(t, evaluate[bool](b, link))
	listed.Store(shardq.MustNew(shardq.Options[string]{Name: "second"}))
	b.waitFor(connection + `"away"`)
	require.True(t, evaluate[bool](b, link))
	b.run(click("#elsewhere"))
	b.waitFor(`document.getElementById("name")?.textContent === "second" && ` + connection + `"live"`)
	require.False(t, evaluate[bool](b, link))
}

// between serves the page of a queue, behind a function of the test.
func between(t *testing.T, q shardq.Inspector, put func(page http.Handler, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	page, err := debugpage.New(debugpage.Options{Queues: []shardq.Inspector{q}, PollEvery: pollEvery})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { put(page, w, r) }))
	t.Cleanup(server.Close)
	return server.URL
}

// TestErrorPagesOfAProxy checks that long error pages of a proxy are not shown.
func TestErrorPagesOfAProxy(t *testing.T) {
	b := newTab(t)
	var media atomic.Pointer[string]
	b.open(between(t, shardq.MustNew(shardq.Options[string]{Name: "q"}), func(page http.Handler, w http.ResponseWriter, r *http.Request) {
		if m := media.Load(); m != nil {
			w.Header().Set("Content-Type", *m)
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<h1>" + strings.Repeat("x", 1000) + "\nsecond line"))
			return
		}
		page.ServeHTTP(w, r)
	}))
	html, plain := "text/html", "text/plain; charset=utf-8"
	media.Store(&html)
	b.waitFor(`document.getElementById("connection-text").textContent === "connection lost (502); trying again. Last seen"`)
	media.Store(&plain)
	b.waitFor(`document.getElementById("connection-text").textContent === "connection lost (502: <h1>` + strings.Repeat("x", 116) + `); trying again. Last seen"`)
}

// TestRatesOfRareNews checks that there are rates although the last ten seconds
// have one reading.
func TestRatesOfRareNews(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[int]{Name: "q"})
	start, n := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 0
	b.open(between(t, q, func(page http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") != "json" {
			page.ServeHTTP(w, r)
			return
		}
		for range 60 { // in half a minute of the page's time
			q.Add(n)
			n++
		}
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, r)
		var report map[string]any
		_ = json.Unmarshal(answer.Body.Bytes(), &report)
		report["time"] = start.Add(time.Duration(n/60) * 30 * time.Second)
		_ = json.NewEncoder(w).Encode(report)
	}))
	b.waitForText(`.tile [data-rate="counters.added"]`, "2.0")
	b.requireNoComplaints()
}
