package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/stats"
)

const connection = `document.getElementById("connection").dataset.connection === `

// TestAnswersThatAreNotUnderstood checks that the page reports such answers,
// and shows nothing of them.
func TestAnswersThatAreNotUnderstood(t *testing.T) {
	var spoil atomic.Pointer[func(string) string]
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Metrics: true})
	b.open(between(t, q, func(page http.Handler, w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, r)
		text := answer.Body.String()
		if with := spoil.Load(); with != nil && r.URL.Query().Get("format") == "json" {
			text = (*with)(text)
		}
		_, _ = fmt.Fprint(w, text)
	}))
	unclear := func(with func(string) string) {
		spoil.Store(&with)
		b.waitFor(connection + `"unclear"`)
		require.Equal(t, "the answer is not understood; trying again. Last seen", b.text("#connection-text"))
		require.Equal(t, "the answer is not understood", b.text("#announcer"))
		require.Equal(t, "0", b.text(`.tile [data-value="gauges.ready"]`))
		spoil.Store(nil)
		b.waitFor(connection + `"live"`)
		require.Equal(t, "connected again", b.text("#announcer"))
	}
	for _, instead := range []string{
		"<html>", "null", "[]", `{"version":2}`, `{"version":2,"time":"never","queues":[]}`,
		`{"version":2,"time":"2026-01-01T00:00:00Z","queues":[null]}`,
		`{"version":2,"time":"2026-01-01T00:00:00Z","queues":[{"id":"q","gauges":{"ready":5},"counters":{},"verdict":{},"detail":{}}]}`,
	} {
		unclear(func(string) string { return instead })
	}
	for _, part := range []string{"gauges", "counters", "processing", "timeLeft", "work", "fine", "shards", "added", "configuration"} {
		unclear(strings.NewReplacer(`"`+part+`":{`, `"`+part+`":5,"other":{`, `"`+part+`":[`, `"`+part+`":5,"other":[`, `"ready":0`, `"ready":5`).Replace)
	}
	b.requireNoComplaints()
}

// TestFrozenWhileThereIsNoAnswer checks that the page keeps showing what is
// wrong until an answer comes.
func TestFrozenWhileThereIsNoAnswer(t *testing.T) {
	var down, blocked atomic.Bool
	b := newTab(t)
	b.open(between(t, shardq.MustNew(shardq.Options[int]{Name: "q"}), func(page http.Handler, w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load():
			panic(http.ErrAbortHandler)
		case blocked.Load():
			<-r.Context().Done()
		default:
			page.ServeHTTP(w, r)
		}
	}))
	words := func() string { return b.text("#connection-text") }
	press := func() { b.run(click("#controls button")) }

	down.Store(true)
	b.waitFor(connection + `"lost" && getComputedStyle(document.querySelector("main")).filter === "grayscale(1)"`)
	press()
	require.Equal(t, "frozen; connection lost (no answer). Last seen", words())
	press()
	require.Equal(t, "connection lost (no answer); trying again. Last seen", words())
	down.Store(false)
	b.waitFor(connection + `"live"`)

	press()
	b.waitForFrames(60) // lets a poll in progress end
	require.Equal(t, "frozen at", words())
	blocked.Store(true)
	press()
	require.Equal(t, "asking… Last seen", words())
	b.waitFor(connection + `"late"`)
	require.Equal(t, "waiting for an answer, last seen", words())
	press()
	require.Equal(t, "frozen at", words())
	blocked.Store(false)
	press()
	b.waitFor(connection + `"live"`)
}

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

// TestRestartedProgram checks that an open page gets the token of the new
// process, in which the queue looks the same.
func TestRestartedProgram(t *testing.T) {
	var process atomic.Pointer[http.Handler]
	start := func() {
		q := shardq.MustNew(shardq.Options[int]{Name: "q"})
		page, err := debugpage.New(debugpage.Options{Queues: []shardq.Inspector{q}, PollEvery: pollEvery, AllowActions: anybody})
		require.NoError(t, err)
		process.Store(&page)
	}
	start()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*process.Load()).ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	b := newTab(t)
	b.open(server.URL)
	before := b.attributes(`[name="token"]`, "value")[0]
	start()
	b.waitFor(fmt.Sprintf(`(document.querySelector('[name="token"]')?.value ?? %[1]s) !== %[1]s`, quote(before)))
	b.requireNoComplaints()
}

// between serves the page of a queue, behind a function of the test.
func between(t *testing.T, q shardq.Inspector, put func(page http.Handler, w http.ResponseWriter, r *http.Request)) string {
	page, err := debugpage.New(debugpage.Options{Queues: []shardq.Inspector{q}, PollEvery: pollEvery})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { put(page, w, r) }))
	t.Cleanup(server.Close)
	return server.URL
}
