package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/stats"
)

// newFake returns a clock that stands still, and with it the pages of its
// queues.
func newFake() *clock.Fake {
	return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

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

func TestUpdatesWithoutReloading(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Shards: 4, Metrics: true})
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}))
	b.run(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))
	ready := `.tile b[data-value="gauges.ready"]`
	require.Equal(t, "0", b.text(ready))
	for i := range 1234 {
		q.Add(fmt.Sprint("item-", i))
	}
	b.waitForText(ready, "1,234")
	item, _ := q.Get()
	b.waitForText(`[data-table="detail.processing"] tbody bdi`, item)
	b.waitFor(`document.querySelector("[data-graph='gauges.ready'] path.line")?.getAttribute("d").length > 10`)
	b.waitFor(`document.querySelector("[data-heat-summary]").textContent.startsWith("Highest: shard")`)
	q.Done(item)
	b.waitFor(`document.querySelector("[data-table='detail.processing']").parentElement.hidden`)
	b.waitForText(`[data-chart="detail.durations.work"] [data-part="count"]`, "1")
	require.True(t, evaluate[bool](b, `window.sameDocument === true`))
	b.requireNoComplaints()
}

// TestScriptShowsTheSameAsTheServer checks that the script writes the same text
// as the server.
func TestScriptShowsTheSameAsTheServer(t *testing.T) {
	b := newTab(t)
	fake := newFake()
	page := serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(fake)}})
	for _, query := range []string{"?shards=depth", "?shards=inflight", "?shards=delayed", "?shards=adds"} {
		const shown = `[...document.querySelectorAll("[data-value], tbody tr:has(.key), [data-highlight]:not([hidden]), [data-chart] .all, [data-chart] .all title, [data-chart] .axis, [data-heat] span, [data-heat-summary]")]` +
			`.map(e => e.textContent.replace(/\s+/g, " ") + "|" + (e.getAttribute("aria-label") ?? "") + "|" + e.getAttribute("class"))`
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		b.run(chromedp.Navigate(page + query))
		server := evaluate[[]string](b, shown)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
		b.open(page + query)
		require.Greater(t, len(server), 100)
		require.Equal(t, server, evaluate[[]string](b, shown), query)
	}
	b.requireNoComplaints()
}

func TestSortingByMouseAndKeyboard(t *testing.T) {
	b := newTab(t)
	fake := newFake()
	q := resting(fake)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}))
	table := `[data-table="detail.processing"]`
	head := func(title string) string {
		return `[...document.querySelectorAll(` + quote(table+" thead th") + `)].find(h => h.textContent === ` + quote(title) + `)`
	}
	firstKeys := func() []string {
		return evaluate[[]string](b, `[...document.querySelectorAll(`+quote(table+" tbody th bdi")+`)].map(e => e.textContent)`)
	}
	require.Equal(t, "descending", evaluate[string](b, head("For")+`.getAttribute("aria-sort")`))
	longestFirst := firstKeys()
	require.Equal(t, "tenant-1/taken", longestFirst[0])

	b.run(chromedp.Evaluate[chromedp.Void](head("For") + `.querySelector("button").id = "for"`))
	b.run(chromedp.Click("#for"))
	require.Equal(t, "ascending", evaluate[string](b, head("For")+`.getAttribute("aria-sort")`))
	require.Equal(t, "tenant-5/taken", firstKeys()[0])
	require.Equal(t, "sorted by For, ascending", b.text("#announcer"))

	// The keyboard moves to the next column and back.
	b.run(chromedp.Focus("#for"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	require.Equal(t, "Attempt", evaluate[string](b, `document.activeElement.textContent`))
	require.Equal(t, "descending", evaluate[string](b, head("Attempt")+`.getAttribute("aria-sort")`))
	require.False(t, evaluate[bool](b, head("For")+`.hasAttribute("aria-sort")`))
	b.run(chromedp.Focus("#for"), chromedp.KeyEvent(" "), chromedp.KeyEvent(" "))
	require.Equal(t, "ascending", evaluate[string](b, head("For")+`.getAttribute("aria-sort")`))

	// The order and the focus stay after the next poll.
	q.Add("tenant-8/new")
	for taken := ""; taken != "tenant-8/new"; {
		taken, _ = q.Get()
	}
	b.waitFor(`document.querySelector(` + quote(table+" tbody bdi") + `).textContent === "tenant-8/new" || document.querySelectorAll(` + quote(table+" tbody tr") + `).length > 6`)
	require.Equal(t, "ascending", evaluate[string](b, head("For")+`.getAttribute("aria-sort")`))
	require.Equal(t, "For", evaluate[string](b, `document.activeElement.textContent`))
	b.requireNoComplaints()
}

// TestHostileKeysRunNothing checks the keys that the server writes, and those
// that the script writes.
func TestHostileKeysRunNothing(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[string]{
		Name: `<img src=x onerror="window.hacked=1">`, Metrics: true, Group: func(item string) string { return item },
	})
	hostile := []string{
		`<script>window.hacked=2</script>`, `<img src=x onerror=window.hacked=3>`, `" onmouseover="window.hacked=4`, `javascript:window.hacked=5`,
		`</script><script>window.hacked=6</script>`, `{{.}}`, "\xff\xfe\xfd", "evil\u202egnp.exe", "a\x00b", strings.Repeat("🙂", 1<<18), `</bdi></table></main>`,
	}
	add := func(prefix string) {
		for _, key := range hostile {
			q.Add(prefix + key)
			_, _ = q.Get()
			q.Add(prefix + key)
			q.AddRateLimited(prefix + key)
		}
	}
	add("")
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}, MaxRows: 100}) + "?rows=100")
	add("later ")
	rows := `[data-table="detail.processing"] tbody tr`
	b.waitFor(fmt.Sprintf(`document.querySelectorAll(%s).length === %d`, quote(rows), 2*len(hostile)))
	require.Equal(t, "undefined", evaluate[string](b, `typeof window.hacked`))
	require.Equal(t, 1, evaluate[int](b, `document.scripts.length`))
	require.Zero(t, evaluate[int](b, `document.querySelectorAll("main img, main script, [onerror], [onmouseover]").length`))
	keys := b.texts(rows + " bdi")
	require.Contains(t, keys, hostile[0])
	require.Contains(t, keys, "later "+hostile[0])
	require.Contains(t, keys, `"\xff\xfe\xfd"`)
	require.Contains(t, keys, `"evil\u202egnp.exe"`)
	require.Contains(t, b.texts(rows+" .key small"), "… 1,048,576 bytes")
	require.Contains(t, b.texts(rows+" .word small"), "… 1,048,576 bytes", "of its group")
	require.NotContains(t, strings.Join(b.texts(rows+" bdi"), " "), "bytes")
	b.requireNoComplaints()
}

// TestPolicyHolds checks that the policy blocks a script that got into the
// page. Otherwise the test above would prove little.
func TestPolicyHolds(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(newFake())}}))
	b.run(chromedp.Evaluate[chromedp.Void](`(() => {
		const script = document.createElement("script");
		try { script.textContent = "window.hacked = 1" } catch { window.refused = true }
		document.body.append(script);
	})()`))
	require.Equal(t, "undefined", evaluate[string](b, `typeof window.hacked`))
	require.True(t, evaluate[bool](b, `window.refused === true`))
	b.mu.Lock()
	defer b.mu.Unlock()
	require.NotEmpty(t, b.complaints, "and it is announced")
}

// TestMillionItems checks that the page of a large queue loads as quickly as
// that of a small one, and is not larger.
func TestMillionItems(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[int]{Name: "large", Metrics: true})
	for i := range 1_000_000 {
		if i%2 == 0 {
			q.Add(i)
		} else {
			q.AddAfter(i, time.Hour)
		}
	}
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}) + "?rows=25")
	require.Equal(t, "500,000", b.text(`.tile b[data-value="gauges.ready"]`))
	require.Equal(t, "500,000", b.text(`.tile b[data-value="gauges.delayed"]`))
	for range 1000 {
		item, _ := q.Get()
		q.Done(item)
	}
	b.waitForText(`.tile b[data-value="gauges.ready"]`, "499,000")
	require.Equal(t, 25, evaluate[int](b, `document.querySelectorAll("[data-table='detail.ready'] tbody tr").length`))
	require.Less(t, evaluate[int](b, `document.querySelectorAll("*").length`), 3000)
	b.requireNoComplaints()
}

func TestQueueThatShutsDownWhileItIsWatched(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true})
	q.Add("last")
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}))
	state := `[data-value="state"]`
	require.Equal(t, "running", b.text(state))
	q.ShutDown()
	b.waitForText(state, "shutting down")
	b.waitForText("#announcer", "q is shutting down")
	item, _ := q.Get()
	q.Done(item)
	b.waitForText(state, "drained")
	require.Equal(t, "drained", b.text(".verdict"))
	b.requireNoComplaints()
}

// TestConnectionLost checks that the page says so, with the time of the shown
// values, and recovers by itself.
func TestConnectionLost(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[string]{Name: "q"})
	page, err := debugpage.New(debugpage.Options{Queues: []shardq.Inspector{q}, PollEvery: pollEvery})
	require.NoError(t, err)
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler) // the connection ends
		}
		page.ServeHTTP(w, r)
	}))
	defer server.Close()
	b.open(server.URL)
	b.waitFor(`document.getElementById("connection").dataset.connection === "live"`)
	down.Store(true)
	b.waitFor(`document.getElementById("connection").dataset.connection === "lost"`)
	require.Contains(t, b.text("#connection"), "connection lost (no answer); trying again.")
	require.Equal(t, "connection lost", b.text("#announcer"))
	q.Add("meanwhile")
	down.Store(false)
	b.waitForText(`.tile b[data-value="gauges.ready"]`, "1")
	require.Equal(t, "connected again", b.text("#announcer"))
}

// TestPollsOnlyWhileVisible checks that the page does not poll while it is
// paused or hidden.
func TestPollsOnlyWhileVisible(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[int]{Name: "q"})
	asked := atomic.Int64{}
	b.open(serve(t, debugpage.Options{
		Queues: []shardq.Inspector{q},
		List:   func() []shardq.Inspector { asked.Add(1); return nil },
	}))
	click := func() { b.run(chromedp.Click("#controls button")) }
	hide := func(hidden bool) {
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
			`Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
	}
	for n, c := range []struct{ stop, resume func() }{
		{click, click},
		{func() { hide(true) }, func() { hide(false) }},
	} {
		c.stop()
		// A poll in progress may still end. Sixty frames are many polling
		// intervals.
		b.waitForFrames(60)
		before := asked.Load()
		q.Add(2*n + 1)
		b.waitForFrames(60)
		require.Equal(t, before, asked.Load())
		require.Equal(t, fmt.Sprint(n), b.text(`.tile b[data-value="gauges.ready"]`))
		c.resume()
		b.waitForText(`.tile b[data-value="gauges.ready"]`, fmt.Sprint(n+1))
		require.Greater(t, asked.Load(), before)
	}
	require.Equal(t, "Pause", b.text("#controls button"))
	b.requireNoComplaints()
}

func TestWithoutJavaScript(t *testing.T) {
	b := newTab(t)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	fake := newFake()
	q := resting(fake)
	address := serve(t, debugpage.Options{Queues: []shardq.Inspector{q}})
	b.run(chromedp.Navigate(address + "?refresh=3600"))
	text := evaluate[string](b, `document.body.innerText`)
	for _, want := range []string{"invoices", "running", "tenant-1/taken", "stuck", "In flight, longest first", "tenant-9/failing-4", "Highest: shard", "Without JavaScript"} {
		require.Contains(t, text, want)
	}
	require.Empty(t, b.texts("#controls button"), "it needs the script")
	require.NotContains(t, text, "Per second", "it would be empty")

	b.run(chromedp.Click(`[data-quantity="adds"]`), chromedp.WaitReady(`[data-quantity="adds"][aria-current]`))
	before := b.text(`.tile b[data-value="gauges.ready"]`)
	q.Add("tenant-0/one-more")
	b.run(chromedp.Navigate(address + "?refresh=1"))
	require.NotEqual(t, before, b.text(`.tile b[data-value="gauges.ready"]`))
	b.requireNoComplaints()
}

// TestQuantities checks that the map of shards shows another quantity without a
// reload.
func TestQuantities(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(newFake())}}) + "?shards=depth")
	b.run(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))
	for name, unit := range map[string]string{"adds": "of all adds", "inflight": "in flight", "delayed": "delayed", "depth": "ready"} {
		b.run(chromedp.Click(`[data-quantity="` + name + `"]`))
		b.waitFor(`document.querySelector("[data-heat-summary]").textContent.includes(` + quote(unit) + `)`)
		require.Equal(t, []string{name}, evaluate[[]string](b, `[...document.querySelectorAll("[aria-current]")].map(e => e.dataset.quantity)`))
		require.True(t, strings.HasSuffix(evaluate[string](b, `document.querySelector("[data-heat] span").getAttribute("aria-label")`), unit))
	}
	require.True(t, evaluate[bool](b, `window.sameDocument === true`))
	b.requireNoComplaints()
}

// A broken queue panics in every method except Name.
type broken struct{ shardq.Inspector }

func (broken) Name() string { return "broken" }

func TestOverview(t *testing.T) {
	b := newTab(t)
	first, second := resting(newFake()), shardq.MustNew(shardq.Options[int]{Name: "second & <last>"})
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{broken{}, first, second}, Title: "Billing"}))
	require.Equal(t, []string{"broken", "invoices", "second & <last>"}, b.texts("tbody th"))
	require.Equal(t, "unknown", b.text("tbody tr:first-child .badge"))
	second.Add(1)
	b.waitFor(`document.querySelectorAll("tbody tr")[2].cells[2].textContent === "1"`)
	b.waitFor(`document.querySelector("tbody svg path.line")?.hasAttribute("d")`)
	b.run(chromedp.Focus("tbody tr:nth-child(3) a"))
	b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("thead th:nth-child(3) button").click()`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("thead th:nth-child(3) button").click()`))
	require.Equal(t, []string{"broken", "second & <last>", "invoices"}, b.texts("tbody th"))
	require.Equal(t, "second & <last>", evaluate[string](b, `document.activeElement.textContent`), "the focus goes with its row")
	b.run(chromedp.KeyEvent("\r"))
	b.waitFor(`document.querySelector("h1").textContent === "second & <last>" && document.documentElement.classList.contains("updating")`)
	require.Equal(t, "All queues", b.text("nav a"))
	b.requireNoComplaints()
}

// TestNarrow checks that on a phone, only scrollable elements are wider than
// the screen.
func TestNarrow(t *testing.T) {
	q := resting(newFake())
	q.Add(strings.Repeat("long", 50))
	for _, width := range []int64{320, 360} {
		b := newTab(t)
		b.run(chromedp.EmulateViewport(width, 740, chromedp.EmulateMobile))
		requireNothingTooWide(b, width, q)
	}
}

// TestNarrowPagesOfALongName checks that each page of a queue wraps a name
// without a space.
func TestNarrowPagesOfALongName(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: strings.Repeat("n", 300), Group: func(string) string { return strings.Repeat("g", 300) }})
	q.Add(strings.Repeat("k", 300))
	b := newTab(t)
	b.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	address := serve(t, debugpage.Options{Queues: []shardq.Inspector{q, shardq.MustNew(shardq.Options[string]{Name: "q"})}, AllowActions: debugpage.Local})
	b.open(address)
	requireAsWideAs(b, 390)
	b.open(evaluate[string](b, `document.querySelector("tbody a[href*=nnn]").href`))
	requireAsWideAs(b, 390)
	pages := evaluate[[]string](b, `["item", "group"].map(name => document.querySelector("a[href*='" + name + "=']").href)`)
	pages = append(pages, evaluate[string](b, `location.href`)+"&key=k")
	for _, page := range pages {
		b.run(chromedp.Navigate(page))
		b.waitFor(`document.querySelector(".head a bdi")?.textContent.startsWith("nnn")`)
		requireAsWideAs(b, 390)
	}
	b.requireNoComplaints()
}

// TestNarrowAfterAWhile checks the same with the column of the last minutes and
// the longest formatted durations.
func TestNarrowAfterAWhile(t *testing.T) {
	q := newTimed()
	q.work(400*24*time.Hour, 999*time.Millisecond)
	s := newStepped(t, q)
	s.step(4*time.Minute+38*time.Second, unchanged)
	q.work(400*24*time.Hour, 999*time.Millisecond)
	s.step(time.Second, unchanged)
	require.Equal(t, "last 4 m 39 s", s.text(workChart+"th.recent"))
	for _, width := range []int64{320, 360} {
		s.run(chromedp.EmulateViewport(width, 740, chromedp.EmulateMobile))
		s.waitForFrames(2)
		requireAsWideAs(s.tab, width)
	}
	s.requireNoComplaints()
}

// requireAsWideAs fails if the page is wider than the screen.
func requireAsWideAs(b *tab, width int64) {
	b.t.Helper()
	require.LessOrEqual(b.t, evaluate[int64](b, `document.documentElement.scrollWidth`), width)
	require.Equal(b.t, width, evaluate[int64](b, `innerWidth`))
}

func requireNothingTooWide(b *tab, width int64, q shardq.Inspector) {
	b.t.Helper()
	for _, options := range []debugpage.Options{
		{Queues: []shardq.Inspector{q}},
		{Queues: []shardq.Inspector{q, shardq.MustNew(shardq.Options[int]{Name: strings.Repeat("long-name-", 19)})}},
		{Queues: []shardq.Inspector{shardq.MustNew(shardq.Options[int]{Shards: 4096})}},
	} {
		b.open(serve(b.t, options))
		requireAsWideAs(b, width)
	}
	b.requireNoComplaints()
}

// TestContrast checks that text has a contrast of 4.5 to 1 in light and dark,
// as in WCAG AA.
func TestContrast(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(newFake())}}) + unfolded)
	backgrounds := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		backgrounds[evaluate[string](b, `getComputedStyle(document.body).backgroundColor`)] = true
		require.Empty(t, evaluate[[]string](b, contrasts), scheme)
	}
	require.Len(t, backgrounds, 2, "light and dark differ")
	require.Zero(t, evaluate[int](b, `document.getAnimations().length`))
}

// TestContrastOfBars checks that bars, or their outlines, have a contrast of 3
// to 1, as in WCAG AA for graphics. This includes bars behind those of the last
// minutes.
func TestContrastOfBars(t *testing.T) {
	q := newTimed()
	q.work(time.Second)
	s := newStepped(t, q)
	q.work(time.Second)
	s.step(time.Second, unchanged)
	for _, scheme := range []string{"light", "dark"} {
		call(s.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		for _, bars := range []string{workChart + ".all rect", workChart + ".recent rect"} {
			stands := evaluate[float64](s.tab, `(() => {
				`+luminances+`
				const bar = document.querySelector(`+quote(bars)+`), style = getComputedStyle(bar), back = [];
				for (let a = bar.closest("figure"); a; a = a.parentElement) back.unshift(getComputedStyle(a).backgroundColor);
				const to = (colour) => contrast(over(back), over([...back, colour]));
				return Math.max(to(style.fill), style.stroke === "none" ? 1 : to(style.stroke));
			})()`)
			require.GreaterOrEqual(t, stands, 3.0, scheme+bars)
		}
	}
}

// luminances has JavaScript functions that compare colours.
const luminances = `
	const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	const over = (colours) => { // from the back to the front
		canvas.clearRect(0, 0, 1, 1);
		for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1) }
		return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
	};
	const luminance = (rgb) => rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const contrast = (one, other) => {
		const [x, y] = [luminance(one), luminance(other)].sort((a, b) => b - a);
		return (x + 0.05) / (y + 0.05);
	};
`

// contrasts is an expression for the texts with too little contrast. It
// includes the colours of the heat map as samples.
const contrasts = `(() => {
` + luminances + `
	const samples = document.createElement("div");
	for (let i = 0; i < 10; i++) { const s = document.createElement("span"); s.className = "h" + i; s.textContent = "h" + i; samples.append(s) }
	document.querySelector("main").append(samples);
	const poor = [];
	for (const e of document.querySelectorAll("body *")) {
		const text = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
		if (!text || e.closest("script, noscript, svg, .unseen") || !e.checkVisibility()) continue;
		const back = [];
		for (let a = e; a; a = a.parentElement) back.unshift(getComputedStyle(a).backgroundColor);
		const ratio = contrast(over(back), over([...back, getComputedStyle(e).color]));
		if (ratio < 4.5) poor.push(e.className + " " + e.textContent.slice(0, 30) + ": " + ratio.toFixed(2));
	}
	samples.remove();
	return [...new Set(poor)];
})()`

// TestAccessibleNames checks the names that a screen reader announces.
func TestAccessibleNames(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(newFake())}}) + unfolded)
	b.waitFor(`document.querySelector("[data-graph='gauges.ready'] svg")`)
	roles := map[string][]string{}
	nodes := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	for _, n := range nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role, name := fmt.Sprint(plain(n.Role)), ""
		if n.Name != nil {
			name = plain(n.Name)
		}
		roles[role] = append(roles[role], name)
	}
	require.Len(t, roles["main"], 1)
	require.Contains(t, roles["heading"], "invoices")
	require.Contains(t, roles["button"], "Pause")
	require.Contains(t, roles["navigation"], "What the map of the shards shows")
	require.Contains(t, roles["region"], "In flight, longest first")
	require.Contains(t, roles["columnheader"], "For")
	for _, role := range []string{"button", "link", "image", "region", "navigation", "list", "columnheader", "table", "figure", "DescriptionList"} {
		require.NotEmpty(t, roles[role], role)
		for _, name := range roles[role] {
			if role == "list" && name == "" {
				continue // elements without a name are named by their parent
			}
			require.NotEmpty(t, strings.TrimSpace(name), role)
		}
	}
	shards := 0
	for _, name := range roles["image"] {
		if strings.HasPrefix(name, "shard ") {
			shards++
		}
	}
	require.Equal(t, 8, shards)
	require.NotEmpty(t, roles["status"], "where changes are announced")
}

// plain returns the text of a value of the accessibility tree.
func plain(v *accessibility.Value) string { return strings.Trim(string(v.Value), `"`) }

// TestUnknownValuesHaveNoGraph checks that unknown values have no graph. A line
// at zero would say that nothing happens.
func TestUnknownValuesHaveNoGraph(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[int]{Name: "plain"})
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}}))
	b.waitFor(`document.querySelector("[data-graph='counters.added'] svg")`)
	require.Zero(t, evaluate[int](b, `document.querySelectorAll("[data-graph='counters.done'] svg, [data-graph='counters.retries'] svg").length`))
	require.Equal(t, "–", b.text(`[data-rate="counters.retries"]`))
	require.Contains(t, b.text("main"), "Options.Metrics turns them on.")
	b.requireNoComplaints()
}
