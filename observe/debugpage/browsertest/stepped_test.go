package browsertest

import (
	"encoding/json"
	"fmt"
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
)

// A stepped page gets one answer for each step of its test, with a given
// content and time.
type stepped struct {
	*tab
	answers chan func(report map[string]any)
	time    time.Time
	// over is closed at the end of the test, when the page still waits for an
	// answer.
	over chan struct{}
	// asked is the query of the last answer.
	asked atomic.Pointer[string]
}

// unfolded is a query that opens all parts of the page, for a browser that
// reloads it.
const unfolded = "?refresh=3600"

// newStepped opens the page of a queue, and gives it the first answer.
func newStepped(t *testing.T, queue shardq.Inspector) *stepped {
	t.Helper()
	return newSteppedOf(t, debugpage.Options{Queues: []shardq.Inspector{queue}}, unfolded, unchanged)
}

func newSteppedOf(t *testing.T, options debugpage.Options, query string, first func(report map[string]any)) *stepped {
	t.Helper()
	options.PollEvery = pollEvery
	page, err := debugpage.New(options)
	require.NoError(t, err)
	s := &stepped{tab: newTab(t), answers: make(chan func(map[string]any)), over: make(chan struct{}), time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(page, w, r) }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(s.over) })
	s.run(chromedp.Navigate(server.URL + query))
	s.step(0, first)
	return s
}

func (s *stepped) serve(page http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("format") != "json" {
		page.ServeHTTP(w, r)
		return
	}
	select {
	case change := <-s.answers:
		s.asked.Store(&r.URL.RawQuery)
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, r)
		var report map[string]any
		_ = json.Unmarshal(answer.Body.Bytes(), &report)
		report["time"] = s.time
		change(report)
		_ = json.NewEncoder(w).Encode(report)
	case <-s.over:
	case <-r.Context().Done():
	}
}

// step gives the page an answer that is later by a duration and changed by
// change, and waits until the page shows it.
func (s *stepped) step(later time.Duration, change func(report map[string]any)) {
	s.t.Helper()
	s.time = s.time.Add(later)
	select {
	case s.answers <- change:
	case <-time.After(patience):
		s.t.Fatal("the page does not ask")
	}
	s.waitFor(fmt.Sprintf(`Date.parse(document.getElementById("time").dateTime) === %d`, s.time.UnixMilli()))
}

func unchanged(map[string]any) {}

// queueIn returns a queue of a report.
func queueIn(report map[string]any, i int) map[string]any {
	return report["queues"].([]any)[i].(map[string]any)
}

// set changes the value at a path such as "gauges.ready" in a queue.
func set(queue map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		queue = queue[name].(map[string]any)
	}
	queue[names[len(names)-1]] = value
}

// attributes returns an attribute of all elements.
func (b *tab) attributes(selector, name string) []string {
	b.t.Helper()
	return evaluate[[]string](b, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.getAttribute(`+quote(name)+`))`)
}
