package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

const connection = `document.getElementById("connection").dataset.connection === `

// TestAnswersThatAreNotUnderstood checks that the page reports such answers,
// and shows nothing of them.
func TestAnswersThatAreNotUnderstood(t *testing.T) {
	var wrong atomic.Pointer[string]
	var damage atomic.Pointer[strings.Replacer]
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Metrics: true})
	b.open(between(t, q, func(page http.Handler, w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, r)
		text := answer.Body.String()
		if r.URL.Query().Get("format") == "json" {
			if instead := wrong.Load(); instead != nil {
				text = *instead
			}
			if d := damage.Load(); d != nil {
				text = d.Replace(text)
			}
		}
		_, _ = fmt.Fprint(w, text)
	}))
	unclear := func() {
		t.Helper()
		b.waitFor(connection + `"unclear"`)
		require.Equal(t, "the answer is not understood; trying again. Last seen", b.text("#connection-text"))
		require.Equal(t, "the answer is not understood", b.text("#announcer"))
		require.Equal(t, "0", b.text(`.tile [data-value="gauges.ready"]`))
	}
	for _, instead := range []string{
		"<html>", "null", "7", "[]", `{"version":2}`, `{"version":2,"time":"never","queues":[]}`, `{"version":2,"time":"2026-01-01T00:00:00Z","queues":{}}`,
		`{"version":2,"time":"2026-01-01T00:00:00Z","queues":[null]}`,
		`{"version":2,"time":"2026-01-01T00:00:00Z","queues":[{"id":"q","gauges":{"ready":5},"counters":{},"verdict":{},"detail":{}}]}`,
	} {
		wrong.Store(&instead)
		unclear()
		wrong.Store(nil)
		b.waitFor(connection + `"live"`)
		require.Equal(t, "connected again", b.text("#announcer"))
	}
	for _, part := range []string{"gauges", "counters", "processing", "retried", "timeLeft", "work", "fine", "shards", "added", "configuration"} {
		damage.Store(strings.NewReplacer(`"`+part+`":{`, `"`+part+`":5,"other":{`, `"`+part+`":[`, `"`+part+`":5,"other":[`, `"ready":0`, `"ready":5`))
		unclear()
		damage.Store(nil)
		b.waitFor(connection + `"live"`)
	}
	b.requireNoComplaints()
}

// TestPausedWhileThereIsNoAnswer checks that the page keeps showing what is
// wrong until an answer comes.
func TestPausedWhileThereIsNoAnswer(t *testing.T) {
	var down atomic.Bool
	var gate atomic.Pointer[chan struct{}] // blocks the answers, unless nil
	open := make(chan struct{})
	close(open)
	gate.Store(&open)
	b := newTab(t)
	b.open(between(t, shardq.MustNew(shardq.Options[int]{Name: "q"}), func(page http.Handler, w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		select {
		case <-*gate.Load():
			page.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	words := func() string { return b.text("#connection-text") }
	press := func() { b.run(click("#controls button")) }

	down.Store(true)
	b.waitFor(connection + `"lost"`)
	press()
	require.Equal(t, "paused; connection lost (no answer). Last seen", words())
	require.True(t, evaluate[bool](b, connection+`"lost"`))
	press()
	require.Equal(t, "connection lost (no answer); trying again. Last seen", words())
	down.Store(false)
	b.waitFor(connection + `"live"`)

	press()
	b.waitForFrames(60) // lets a poll in progress end
	require.Equal(t, "paused at", words())
	closed := make(chan struct{})
	gate.Store(&closed)
	press()
	require.Equal(t, "asking… Last seen", words())
	b.waitFor(connection + `"late"`)
	require.Equal(t, "waiting for an answer, last seen", words())
	press()
	require.Equal(t, "paused at", words())
	press()
	require.Equal(t, "asking… Last seen", words())
	close(closed)
	b.waitFor(connection + `"live"`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complaints {
		require.Contains(t, complaint, "Failed to load resource", "as it was down")
	}
}

// TestLateAnswer checks that the page does not call itself live without an
// answer.
func TestLateAnswer(t *testing.T) {
	s := newStepped(t, shardq.MustNew(shardq.Options[int]{Name: "q"}))
	s.waitFor(connection + `"late"`)
	require.Equal(t, "waiting for an answer, last seen 00:00:00 UTC", s.text("#connection"))
	s.step(1e9, unchanged)
	s.waitFor(connection + `"live"`)
}
