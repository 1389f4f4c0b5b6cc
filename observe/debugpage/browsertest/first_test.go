package browsertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/observe/debugpage"
)

// troubled returns a queue with a stuck item, a group that floods, delayed
// items, and failures, the last one of tenants[11]. No failed item runs again.
// The queue runs until the test ends.
func troubled(t *testing.T) *shardq.Queue[invoice] {
	q := shardq.MustNew(shardq.Options[invoice]{
		Name: "invoices", Shards: 32, Metrics: true, Group: func(i invoice) string { return i.tenant }, StuckAfter: time.Millisecond,
		RateLimiter: limiter.NewExponential[invoice](time.Hour, time.Hour),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = q.Run(ctx, 4, func(ctx context.Context, i invoice) error {
			if i.number == "fails" {
				return errors.New("the bank of " + i.tenant + " does not answer")
			}
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		q.ShutDown()
		<-ended
	})
	for i := range 12 {
		q.Add(invoice{tenants[i], "fails"})
		for q.Stats().Delayed <= i {
			time.Sleep(time.Millisecond)
		}
	}
	for i := range 4 {
		q.Add(invoice{tenants[i], fmt.Sprintf("2026-%05d", i)})
	}
	for q.Stats().Processing < 4 {
		time.Sleep(time.Millisecond)
	}
	for i := range 3000 {
		q.Add(invoice{flooding, fmt.Sprintf("2026-%05d", i)})
		q.Add(invoice{tenants[i%len(tenants)], fmt.Sprintf("2027-%05d", i/10)})
	}
	time.Sleep(2 * time.Millisecond)
	return q
}

// bottomOf returns the lower edge of an element, from the top of the page.
func (b *tab) bottomOf(selector string) float64 {
	return evaluate[float64](b, `document.querySelector(`+quote(selector)+`).getBoundingClientRect().bottom + scrollY`)
}

// TestFirstScreen checks that the first screen answers: is it keeping up, what
// is stuck, which group floods, and what fails with which error. The page is
// short.
func TestFirstScreen(t *testing.T) {
	b := newTab(t)
	b.run(chromedp.EmulateViewport(1280, 1000))
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{troubled(t)}}))
	require.Equal(t, "4 stuck", b.text(".verdict"))
	require.Equal(t, "bad", b.attributes(".verdict", "data-tone")[0])
	require.Equal(t, "#detail.processing", b.attributes(".verdict", "href")[0])
	require.Equal(t, flooding, b.text(`[data-table="detail.groups"] tbody bdi`))
	require.Contains(t, b.texts(`[data-table="detail.failures"] tbody td bdi`), "the bank of "+tenants[11]+" does not answer")
	for _, part := range []string{".verdict", `[data-table="detail.processing"]`, `[data-table="detail.groups"]`, `[data-table="detail.failures"]`} {
		require.Less(t, b.bottomOf(part), 1000.0, part)
	}
	require.Less(t, evaluate[float64](b, `document.documentElement.scrollHeight`), 1700.0)
	require.Equal(t, "none", evaluate[string](b, `getComputedStyle(document.querySelector(".highlights")).display`), "the tables are there")
	if *screenshots != "" {
		b.waitFor(`document.querySelector(".trend").textContent !== ""`)
		b.picture("first-light.png", 1280, 1000, "light")
		b.picture("first-dark.png", 1280, 1000, "dark")
	}
	for _, width := range []int64{390, 320} {
		b.run(chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile))
		b.waitForFrames(2)
		requireAsWideAs(b, width)
		require.Less(t, b.bottomOf(".verdict"), 844.0)
		require.Less(t, b.bottomOf(".highlights"), 844.0)
		require.Regexp(t, `^Stuck\S+/2026-0000\d for `, b.texts(".highlights div")[0])
		require.Regexp(t, `^Largest group`+flooding+` 3,000 ready, 50 % of all$`, b.texts(".highlights div")[1])
		require.Regexp(t, `^Last failure`+tenants[11]+`/fails .* ago: the bank of `+tenants[11]+` does not answer$`, b.texts(".highlights div")[2])
		require.Less(t, evaluate[float64](b, `document.documentElement.scrollHeight`), 2600.0)
		if *screenshots != "" && width == 390 {
			b.picture("first-phone.png", width, 2400, "light", chromedp.EmulateMobile)
		}
	}
	b.requireNoComplaints()
}

// TestHighlightsFollow checks that the lines of a narrow page follow the
// answers, and that a long error does not fill the screen.
func TestHighlightsFollow(t *testing.T) {
	s := newStepped(t, shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(string) string { return "" }}))
	s.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	const shown = ".highlights div:not([hidden])"
	require.Empty(t, s.texts(shown))
	require.Equal(t, "none", evaluate[string](s.tab, `getComputedStyle(document.querySelector(".highlights")).display`))
	long := strings.Repeat("https://example.com/", 10)
	failure := func(key string) []any {
		return []any{map[string]any{"key": key, "keyLength": 300, "ageSeconds": 5, "attempt": 1, "error": long, "panicked": false, "reason": "", "group": ""}}
	}
	s.step(time.Second, func(report map[string]any) {
		set(queueIn(report, 0), "detail.processing", []any{map[string]any{"key": "acme/1", "ageSeconds": 90, "stuck": true}})
		set(queueIn(report, 0), "detail.groups", []any{map[string]any{"group": "globex", "ready": 3000, "share": 0.49}})
		set(queueIn(report, 0), "detail.discards", failure("initech/1"))
	})
	require.Equal(t, []string{
		"Stuckacme/1 for 1 m 30 s", "Largest groupglobex 3,000 ready, 49 % of all", "Last dead letterinitech/1… 5.0 s ago: " + long,
	}, s.texts(shown))
	require.Less(t, s.bottomOf(".highlights"), 500.0)
	requireAsWideAs(s.tab, 390)
	s.step(time.Second, func(report map[string]any) {
		set(queueIn(report, 0), "detail.processing", []any{map[string]any{"key": "acme/1", "ageSeconds": 1, "stuck": false}})
		set(queueIn(report, 0), "detail.groups", []any{map[string]any{"group": "globex", "ready": 0, "share": 0}})
		set(queueIn(report, 0), "detail.failures", failure("hooli/1"))
		set(queueIn(report, 0), "detail.discards", failure("initech/1"))
	})
	require.Equal(t, []string{"Last failurehooli/1… 5.0 s ago: " + long}, s.texts(shown))
	s.step(time.Second, unchanged)
	require.Empty(t, s.texts(shown))
	s.requireNoComplaints()
}

// TestLongVerdict checks that a long verdict wraps on a phone.
func TestLongVerdict(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Ages: true})
	s := newStepped(t, q)
	s.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	for i := range 40 {
		s.step(2*time.Second, func(report map[string]any) {
			set(queueIn(report, 0), "gauges.ready", 123_456_789)
			set(queueIn(report, 0), "gauges.oldestReadySeconds", 1_000_000+2*i)
			set(queueIn(report, 0), "verdict", map[string]any{"name": "working", "tone": "plain", "text": "working"})
		})
	}
	require.True(t, strings.HasPrefix(s.text(".verdict"), "falling behind: the oldest ready is"), s.text(".verdict"))
	requireAsWideAs(s.tab, 390)
}

// TestInitialList checks the verdict on a list that was added once, while the
// workers go through it: it grows older until its end, and is not ill.
func TestInitialList(t *testing.T) {
	s := newStepped(t, shardq.MustNew(shardq.Options[int]{Name: "q", Metrics: true}))
	for i := range 20 {
		s.step(2*time.Second, func(report map[string]any) {
			set(queueIn(report, 0), "gauges.ready", 20_000-500*i)
			set(queueIn(report, 0), "gauges.oldestReadySeconds", 2*i)
			set(queueIn(report, 0), "counters.done", 500*i)
			set(queueIn(report, 0), "verdict", map[string]any{"name": "working", "tone": "plain", "text": "working"})
		})
	}
	require.True(t, strings.HasPrefix(s.text(".verdict"), "catching up: "), s.text(".verdict"))
	require.Equal(t, "good", s.attributes(".verdict", "data-tone")[0])
}

// TestOverviewFilter filters with and without JavaScript.
func TestOverviewFilter(t *testing.T) {
	idle, alone := shardq.MustNew(shardq.Options[int]{Name: "mails"}), shardq.MustNew(shardq.Options[int]{Name: "invoices"})
	alone.Add(1)
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{idle, alone}}))
	require.Equal(t, []string{"invoices", "mails"}, b.texts("tbody th"), "problems first")
	require.Equal(t, "no workers: 1 ready", b.text("tbody .badge"))
	b.run(click("#problems"))
	b.waitFor(`location.search.includes("problems=1") && document.documentElement.classList.contains("updating")`)
	require.Equal(t, []string{"invoices"}, b.texts("tbody th"))
	idle.Add(1)
	b.waitFor(`document.querySelectorAll("tbody tr").length === 2`)
	b.requireNoComplaints()
}

// TestPausedWithAStuckItem checks that the page shows a pause beside a stuck
// item, and that it offers the action that has an effect.
func TestPausedWithAStuckItem(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Clock: fake, StuckAfter: time.Minute})
	q.Add("acme/1")
	item, _ := q.Get()
	fake.Step(time.Hour)
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}, AllowActions: debugpage.Local}))
	shown := func() []string { return b.texts(".actions form:not([hidden]) button") }
	const paused = `[data-value="gauges.paused"]`
	require.Equal(t, "1 stuck", b.text(".verdict"))
	require.Equal(t, "no", b.text(paused))
	require.Equal(t, []string{"Pause the queue"}, shown())
	q.Pause()
	b.waitForText(".verdict", "1 stuck, paused")
	b.waitForText(paused, "yes")
	require.Equal(t, []string{"Resume the queue"}, shown())
	b.run(click(`form:not([hidden]):has([value="resume"]) button`))
	b.waitForText(".verdict", "1 stuck")
	require.Equal(t, []string{"Pause the queue"}, shown())
	q.Done(item)
	b.requireNoComplaints()
}

// TestActionsInTheBrowser retries and cancels an item, found by its key, and
// sees what became of it.
func TestActionsInTheBrowser(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true})
	q.AddAfter("acme/1", time.Hour)
	q.AddAfter("acme/12", time.Hour)
	b := newTab(t)
	b.open(serve(t, debugpage.Options{
		Queues:       []shardq.Inspector{q, shardq.MustNew(shardq.Options[string]{Name: "other"})},
		AllowActions: debugpage.Local,
	}) + "?queue=q")
	b.run(chromedp.SendKeys(`[name="key"]`, "acme/1\r"))
	b.waitFor(`document.querySelector("h1")?.textContent === "Keys that begin with acme/1"`)
	require.Equal(t, []string{"acme/1"}, b.texts("tbody th"))
	b.run(click("tbody th a"))
	b.waitFor(`document.querySelector("h1")?.textContent === "Item"`)
	require.Equal(t, "delayed", b.text("tbody td"))
	b.run(click(`form:has([value="retry"]) button`))
	b.waitFor(`document.querySelector("tbody td")?.textContent === "ready"`)
	b.run(click(`form:has([value="cancel"]) button`))
	b.waitFor(`document.querySelector(".notice")?.textContent.startsWith("The queue does not hold this item")`)
	require.Equal(t, 1, q.Stats().Held)
	b.requireNoComplaints()
}
