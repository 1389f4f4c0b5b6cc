package browsertest

import (
	"context"
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

	"github.com/shardq/shardq/observe/debugpage"
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
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
	)
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancelAllocator)
	b := &tab{t: t}
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.ctx = ctx
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank"))) // with a timeout, the browser would end
	call(b, log.Enable, cdp.Empty{})
	return b
}

// call sends a command to the browser.
func call[P, R any](b *tab, command cdp.Command[P, R], parameters P) R {
	b.t.Helper()
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
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.complaints)
}

// run runs actions in the tab.
func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// open loads an address, and waits for the first answer.
func (b *tab) open(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
	b.waitFor(`document.documentElement.classList.contains("updating")`)
}

// waitFor waits until an expression is true. It polls in the page, without
// eval, which the page's policy forbids.
func (b *tab) waitFor(expression string) {
	b.t.Helper()
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
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(
		"new Promise(resolve => { let n = %d; const next = () => n-- > 0 ? requestAnimationFrame(next) : resolve(true); next() })", n),
		chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
}

// waitForText waits until an element has a text.
func (b *tab) waitForText(selector, text string) {
	b.t.Helper()
	b.waitFor(`document.querySelector(` + quote(selector) + `)?.textContent === ` + quote(text))
}

// evaluate returns the value of an expression.
func evaluate[V any](b *tab, expression string) V {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression))
	require.NoError(b.t, err, expression)
	return value
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return evaluate[string](b, `document.querySelector(`+quote(selector)+`).textContent`)
}

// texts returns the trimmed texts of all elements.
func (b *tab) texts(selector string) []string {
	b.t.Helper()
	return evaluate[[]string](b, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.textContent.trim())`)
}

// quote formats a text as a JavaScript literal.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// serve serves a page until the test ends, below a prefix, as in a mux.
func serve(t *testing.T, options debugpage.Options) (address string) {
	t.Helper()
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
