// Package browser tests package debugpage in a browser: headless Chromium.
//
// Without Chromium the tests skip, or fail if SHARDQ_REQUIRE_CHROMIUM=1.
// CHROMIUM names its executable if that is not on the path.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/stats"
)

// patience limits the time that a test waits for the page. It matters only if
// the test fails.
const patience = 60 * time.Second

// pollEvery is the polling interval of the pages in the tests.
const pollEvery = 50 * time.Millisecond

// chromium returns the executable, or skips or fails the test if there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("SHARDQ_REQUIRE_CHROMIUM") == "1" {
		t.Fatal("Chromium is not on the path, and SHARDQ_REQUIRE_CHROMIUM is 1")
	}
	t.Skip("Chromium is not on the path: the page is not tested in a browser")
	return ""
}

// A tab is an open page in its own browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// complaints are the errors and warnings of the page, including violations
	// of its policy.
	complaints []string
}

// newTab starts a browser with an empty profile, which ends with the test.
func newTab(t *testing.T) *tab {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
	)
	b := &tab{t: t}
	var err error
	for range 3 { // a browser sometimes ends as it starts
		if err = b.start(options); err == nil {
			break
		}
	}
	require.NoError(t, err)
	call(b, log.Enable, cdp.Empty{})
	return b
}

func (b *tab) start(options []chromedp.ExecAllocatorOption) error {
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	b.t.Cleanup(cancelAllocator)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(b.listen))
	b.t.Cleanup(cancel)
	b.ctx = ctx
	return chromedp.Do(ctx, chromedp.Navigate("about:blank")) // with a timeout, the browser would end
}

// call sends a command to the browser.
func call[P, R any](b *tab, command cdp.Command[P, R], parameters P) R {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, parameters)
	require.NoError(b.t, err)
	return result
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *log.EventEntryAdded:
		if event.Entry.Level == log.EntryLevelError || event.Entry.Level == log.EntryLevelWarning {
			b.complaints = append(b.complaints, event.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, event.ExceptionDetails.Text)
	}
}

// requireNoComplaints fails if the page has reported an error, or a violation
// of its policy.
func (b *tab) requireNoComplaints() {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.complaints)
}

// run runs actions in the tab.
func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// open loads an address, and waits for the first answer.
func (b *tab) open(address string) {
	b.run(chromedp.Navigate(address))
	b.waitFor(`document.documentElement.classList.contains("updating")`)
}

// waitFor waits until an expression is true. It polls in the page, without
// eval, which the page's policy forbids.
func (b *tab) waitFor(expression string) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	poll := chromedp.Evaluate[bool](
		"new Promise(resolve => { const poll = () => ("+expression+") ? resolve(true) : setTimeout(poll, 20); poll() })",
		chromedp.EvalAwaitPromise)
	_, err := chromedp.Run(ctx, poll)
	for range 5 { // polling ends if the document is replaced
		if err == nil || ctx.Err() != nil {
			break
		}
		_, err = chromedp.Run(ctx, poll)
	}
	if err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		require.NoError(b.t, err, "%s\n%s", expression, text)
	}
}

// waitForFrames waits until the page was drawn n times.
func (b *tab) waitForFrames(n int) {
	evaluate[bool](b, fmt.Sprintf(
		"new Promise(resolve => { let n = %d; const next = () => n-- > 0 ? requestAnimationFrame(next) : resolve(true); next() })", n),
		chromedp.EvalAwaitPromise)
}

// waitForText waits until an element has a text.
func (b *tab) waitForText(selector, text string) {
	b.waitFor(`document.querySelector(` + quote(selector) + `)?.textContent === ` + quote(text))
}

// evaluate returns the value of an expression.
func evaluate[V any](b *tab, expression string, options ...chromedp.EvaluateOption) V {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression, options...))
	require.NoError(b.t, err, expression)
	return value
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	return evaluate[string](b, `document.querySelector(`+quote(selector)+`).textContent`)
}

// texts returns the trimmed texts of all elements.
func (b *tab) texts(selector string) []string {
	return evaluate[[]string](b, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.textContent.trim())`)
}

// quote formats a text as a JavaScript literal.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// serve serves a page until the test ends, below a prefix, as in a mux.
func serve(t *testing.T, options debugpage.Options) (address string) {
	if options.PollEvery == 0 {
		options.PollEvery = pollEvery
	}
	page, err := debugpage.New(options)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/debug/queues/", page)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/debug/queues/"
}

// click clicks on an element.
func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`document.querySelector(` + quote(selector) + `).click()`)
}

// A stepped page gets one answer for each step of its test, with a given
// content and time.
type stepped struct {
	*tab
	answers chan func(report map[string]any)
	time    time.Time
	// over is closed at the end of the test, when the page still waits for an
	// answer.
	over chan struct{}
}

// unfolded is a query that opens all parts of the page, for a browser that
// reloads it.
const unfolded = "?refresh=3600"

// newStepped opens the page of a queue, and gives it the first answer.
func newStepped(t *testing.T, queue shardq.Inspector) *stepped {
	return newSteppedOf(t, debugpage.Options{Queues: []shardq.Inspector{queue}}, unfolded, unchanged)
}

func newSteppedOf(t *testing.T, options debugpage.Options, query string, first func(report map[string]any)) *stepped {
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
	return evaluate[[]string](b, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.getAttribute(`+quote(name)+`))`)
}

// newFake returns a clock that stands still, and with it the pages of its
// queues.
func newFake() *clock.Fake { return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) }

// resting returns a queue with something in every state, which only its test
// changes.
func resting(fake *clock.Fake) *shardq.Queue[string] {
	q := shardq.MustNew(shardq.Options[string]{
		Name: "invoices", Shards: 8, Metrics: true, Clock: fake, Capacity: 1000,
		Group:       func(item string) string { tenant, _, _ := strings.Cut(item, "/"); return tenant },
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 3} }, StuckAfter: time.Minute, OnStuck: func(stats.Item[string]) {},
	})
	for i := range 6 {
		q.Add(fmt.Sprintf("tenant-%d/taken", i))
		_, _ = q.Get()
		fake.Step(time.Duration(i*i*i) * 700 * time.Millisecond)
	}
	for i := range 40 {
		q.Add(fmt.Sprintf("tenant-%d/%d", i%7, i))
		fake.Step(time.Duration(i) * 3 * time.Millisecond)
		q.AddAfter(fmt.Sprintf("tenant-%d/later-%d", i%7, i), time.Duration(i*i)*time.Second+time.Minute)
	}
	for i := range 5 {
		for range i + 1 {
			q.AddRateLimited(fmt.Sprintf("tenant-9/failing-%d", i))
		}
	}
	q.Done("tenant-0/taken")
	q.Add("tenant-1/taken")
	return q
}

// anybody allows all actions to local clients.
func anybody(r *http.Request, _ debugpage.Action) bool { return debugpage.Local(r) }
