package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/observe/debugpage"
)

// TestScriptShowsTheSameAsTheServer checks that the script writes the same text
// as the server.
func TestScriptShowsTheSameAsTheServer(t *testing.T) {
	b := newTab(t)
	fake := newFake()
	page := serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(fake)}})
	for _, query := range []string{"?shards=depth", "?shards=inflight", "?shards=delayed", "?shards=adds"} {
		const shown = `[...document.querySelectorAll(".verdict, .trend, [data-value], tbody tr:has(.key), [data-highlight]:not([hidden]), [data-chart] .all, [data-chart] .all title, [data-chart] .axis, [data-heat] span, [data-heat-summary]")]` +
			`.map(e => e.textContent.replace(/\s+/g, " ") + "|" + (e.getAttribute("aria-label") ?? "") + "|" + e.getAttribute("class"))`
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		b.run(chromedp.Navigate(page + query))
		server := evaluate[[]string](b, shown)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
		b.open(page + query)
		require.Greater(t, len(server), 100)
		require.Equal(t, server, evaluate[[]string](b, shown), query)
	}
	b.run(click(`[data-quantity="inflight"]`)) // without a reload
	require.Regexp(t, "in flight$", b.attributes("[data-heat] span", "aria-label")[0])
	require.Equal(t, []string{"inflight"}, b.attributes("[aria-current]", "data-quantity"))
	require.Equal(t, b.text("[data-heat-summary]"), b.text("#announcer"))
	b.requireNoComplaints()
}

// TestHostileKeysRunNothing checks the keys that the server writes, and those
// that the script writes, and that the policy would block a script.
func TestHostileKeysRunNothing(t *testing.T) {
	b := newTab(t)
	q := shardq.MustNew(shardq.Options[string]{
		Name: `<img src=x onerror="window.hacked=1">`, Metrics: true, Group: func(item string) string { return item },
	})
	hostile := []string{
		`<script>window.hacked=2</script>`, `<img src=x onerror=window.hacked=3>`, `" onmouseover="window.hacked=4`, `javascript:window.hacked=5`,
		`</script><script>window.hacked=6</script>`, `{{.}}`, "\xff\xfe\xfd", "evil\u202egnp.exe", strings.Repeat("🙂", 1<<18), `</bdi></table></main>`,
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
	b.waitFor(fmt.Sprintf(`document.querySelectorAll(%s).length === %d`, quote(processing+"tbody tr"), 2*len(hostile)))
	require.Equal(t, "undefined", evaluate[string](b, `typeof window.hacked`))
	require.Equal(t, 1, evaluate[int](b, `document.scripts.length`))
	require.Zero(t, evaluate[int](b, `document.querySelectorAll("main img, main script, [onerror], [onmouseover]").length`))
	require.Subset(t, b.texts(rowKeys), []string{hostile[0], "later " + hostile[0], `"\xff\xfe\xfd"`, `"evil\u202egnp.exe"`})
	require.Contains(t, b.texts(processing+".key small"), "… 1,048,576 bytes")
	require.Contains(t, b.texts(processing+".word small"), "… 1,048,576 bytes", "of its group")
	b.requireNoComplaints()

	b.run(chromedp.Evaluate[chromedp.Void](`(() => {
		const script = document.createElement("script");
		try { script.textContent = "window.hacked = 1" } catch { window.refused = true }
		document.body.append(script);
	})()`))
	require.Equal(t, "undefined", evaluate[string](b, `typeof window.hacked`))
	require.True(t, evaluate[bool](b, `window.refused === true`))
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
	require.Equal(t, "Freeze page", b.text("#controls button"))
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
	for _, want := range []string{"invoices", "tenant-1/taken", "stuck", "In flight, longest first", "tenant-9/failing-4", "Highest: shard", "Without JavaScript"} {
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

// TestNarrow checks that on a phone, only scrollable elements are wider than
// the screen, also with names without a space, and that the first screen of a
// page has the verdict.
func TestNarrow(t *testing.T) {
	long := strings.Repeat("n", 300)
	q := shardq.MustNew(shardq.Options[string]{Name: long, Group: func(string) string { return long }, Metrics: true})
	q.Add(long)
	b := newTab(t)
	b.run(chromedp.EmulateViewport(320, 740, chromedp.EmulateMobile))
	require320 := func() {
		require.LessOrEqual(t, evaluate[int64](b, `document.documentElement.scrollWidth`), int64(320))
	}
	many := shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 4096})
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(newFake())}}))
	require320()
	ages := `[...document.querySelectorAll('[data-table="detail.processing"] td[data-label="For"]')]`
	require.Less(t, evaluate[float64](b, `Math.max(...`+ages+`.map(e => e.getBoundingClientRect().right))`), 320.0, "numbers are visible")
	require.True(t, evaluate[bool](b, ages+`.every(e => e.offsetTop > e.parentElement.firstElementChild.offsetTop)`), "below the key")
	require.Less(t, evaluate[float64](b, `document.querySelector(".highlights").getBoundingClientRect().bottom`), 740.0)
	failed := shardq.MustNew(shardq.Options[string]{Name: "failed", Metrics: true})
	failed.Add("acme/1")
	failWith(t, failed, errors.New(strings.Repeat("the bank does not answer, ", 15)+"503"))
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{failed}}))
	b.waitFor(`document.querySelector(".error .halves")?.textContent.endsWith("503")`)
	require.Empty(t, evaluate[[]string](b, `[...document.querySelectorAll(".halves span:last-child")].filter(e => e.textContent && !e.closest("[hidden]")).filter(e => !e.checkVisibility() || e.scrollWidth > e.clientWidth || e.getBoundingClientRect().right > 320).map(e => e.innerText)`), "cut in the middle")
	require.True(t, evaluate[bool](b, `document.querySelector('[data-label="Worker"]').checkVisibility()`))
	require.GreaterOrEqual(t, evaluate[float64](b, `document.querySelector("#controls button").getBoundingClientRect().right`), 300.0, "at the right")
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{many}}))
	require320()
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q, many}, AllowActions: anybody}))
	require320()
	b.open(evaluate[string](b, `document.querySelector("tbody a[href*=nnn]").href`))
	require320()
	for _, page := range evaluate[[]string](b, `["item", "group"].map(name => document.querySelector("a[href*='" + name + "=']").href)`) {
		b.run(chromedp.Navigate(page))
		b.waitFor(`document.querySelector(".head a bdi")?.textContent.startsWith("nnn")`)
		require320()
	}
	b.requireNoComplaints()
}

// TestLongNamesLeaveRoom checks that a long name or key pushes no column out of
// its table, at any width.
func TestLongNamesLeaveRoom(t *testing.T) {
	long := strings.Repeat("n", 300)
	q := shardq.MustNew(shardq.Options[string]{Name: long, Group: func(string) string { return long }, Metrics: true})
	q.AddBatch([]string{long, long[1:]}, shardq.AddOptions{})
	failWith(t, q, errors.New(long))
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q, shardq.MustNew(shardq.Options[int]{Name: "q"})}}))
	one := evaluate[string](b, `document.querySelector("tbody a[href*=nnn]").href`)
	for _, page := range []string{evaluate[string](b, "location.href"), one} {
		b.open(page)
		for _, width := range []int64{390, 768, 1280, 1920} {
			b.run(chromedp.EmulateViewport(width, 900))
			b.waitForFrames(3)
			require.Empty(t, evaluate[[]string](b, `[...document.querySelectorAll(".scroll")].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth).map(e => e.textContent)`), width)
		}
	}
}

// failWith lets one attempt of a queue fail, and the next one begin.
func failWith(t *testing.T, q *shardq.Queue[string], err error) {
	ctx, stop := context.WithCancel(context.Background())
	attempts, ended := make(chan struct{}, 2), make(chan error, 1)
	go func() {
		first := true
		ended <- q.Run(ctx, 1, func(ctx context.Context, _ string) error {
			attempts <- struct{}{}
			if first {
				first = false
				return err
			}
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(func() { stop(); q.ShutDown(); <-ended })
	<-attempts
	<-attempts
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

// contrasts is an expression for the texts with too little contrast. It
// includes the colours of the heat map as samples.
const contrasts = `(() => {
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

// TestFocusIsVisible checks that each element that has the focus has an outline,
// of which nothing is cut off.
func TestFocusIsVisible(t *testing.T) {
	q := resting(newFake())
	b := newTab(t)
	page := serve(t, debugpage.Options{Queues: []shardq.Inspector{q}, AllowActions: anybody})
	for _, width := range []int64{390, 1280} {
		b.run(chromedp.EmulateViewport(width, 900))
		for _, query := range []string{"", unfolded} {
			b.open(page + query)
			b.run(chromedp.KeyEvent(kb.Tab)) // outlines are for the keyboard
			require.Empty(t, evaluate[[]string](b, cutOutlines), "%d %s", width, query)
		}
	}
}

// cutOutlines is an expression for the elements whose outline is missing, or
// exceeds an ancestor that clips its content.
const cutOutlines = `(() => {
	const cut = [];
	for (const e of document.querySelectorAll("a[href]:not(.skip), button, input, summary, [tabindex]")) {
		if (!e.checkVisibility() || e.closest("noscript") || e.type === "hidden") continue;
		e.focus({ preventScroll: true });
		const style = getComputedStyle(e), beyond = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth) - 0.5;
		const own = e.getBoundingClientRect();
		let good = document.activeElement === e && style.outlineStyle === "solid";
		for (let a = e.parentElement; a; a = a.parentElement) {
			const box = a.getBoundingClientRect();
			good &&= getComputedStyle(a).overflowX === "visible" || own.top - beyond >= box.top && own.bottom + beyond <= box.bottom &&
				own.left - beyond >= box.left && own.right + beyond <= box.right;
		}
		if (!good) cut.push(e.localName + "." + e.className + " " + e.textContent.slice(0, 30));
	}
	return cut;
})()`

// TestAccessibleNames checks that a screen reader can announce a name for what
// it comes to.
func TestAccessibleNames(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{resting(newFake())}}) + unfolded)
	b.waitFor(`document.querySelector("[data-graph='gauges.ready'] svg")`)
	roles := map[string][]string{}
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if !n.Ignored && n.Role != nil {
			name := ""
			if n.Name != nil {
				name = plain(n.Name)
			}
			roles[plain(n.Role)] = append(roles[plain(n.Role)], name)
		}
	}
	require.Len(t, roles["main"], 1)
	require.NotEmpty(t, roles["status"], "where changes are announced")
	for _, role := range []string{"button", "link", "image", "region", "navigation", "columnheader", "table", "figure", "DescriptionList"} {
		require.NotEmpty(t, roles[role], role)
		require.NotContains(t, roles[role], "", role)
	}
	require.Contains(t, strings.Join(roles["image"], "\n"), "shard 7: ")
	for _, landmark := range []string{"region", "navigation", "search"} {
		names := roles[landmark]
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "two landmarks of a name: %q", names)
	}
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
	require.Zero(t, evaluate[int](b, `document.querySelectorAll("[data-graph='counters.handedOut'] svg, [data-graph='counters.retries'] svg").length`))
	require.Equal(t, "–", b.text(`[data-rate="counters.retries"]`))
	require.Contains(t, b.text("main"), "Options.Metrics turns them on.")
	b.requireNoComplaints()
}

// TestPausedWithAStuckItem checks that the page shows a pause beside a stuck
// item, and that it offers the action that has an effect.
func TestPausedWithAStuckItem(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Clock: fake, StuckAfter: time.Minute})
	q.Add("acme/1")
	_, _ = q.Get()
	fake.Step(time.Hour)
	b := newTab(t)
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{q}, AllowActions: anybody}))
	shown := func() []string { return b.texts(".actions form:not([hidden]) button") }
	require.Equal(t, "1 stuck", b.text(".verdict"))
	require.Equal(t, []string{"Pause the queue"}, shown())
	require.False(t, evaluate[bool](b, `document.querySelector(".confirm button").checkVisibility()`), "it asks first")
	b.run(click(".confirm summary"))
	b.waitFor(`document.querySelector(".confirm button").checkVisibility()`)
	const place = `JSON.stringify(document.querySelector(".confirm summary").getBoundingClientRect())`
	require.Equal(t, "Cancel", evaluate[string](b, `document.querySelector(".confirm summary").innerText.trim()`))
	open := evaluate[string](b, place)
	b.run(click(".confirm summary"))
	b.waitFor(`!document.querySelector(".confirm button").checkVisibility()`)
	require.Equal(t, open, evaluate[string](b, place), "the button does not jump")
	b.run(click(".confirm summary"), click(".confirm button"))
	b.waitForText(".verdict", "1 stuck, paused")
	b.waitForText(`[data-value="gauges.paused"]`, "yes")
	require.Equal(t, []string{"Resume the queue"}, shown())
	b.run(click(`form:not([hidden]):has([value="resume"]) button`))
	b.waitForText(".verdict", "1 stuck")
	require.Equal(t, []string{"Pause the queue"}, shown())
	q.ShutDown()
	b.waitFor(`document.querySelectorAll(".actions form:not([hidden])").length === 0`)
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
		AllowActions: anybody,
	}) + "?queue=q")
	b.run(chromedp.SendKeys(`[name="key"]`, "acme/1\r"))
	b.waitFor(`document.querySelector("h1")?.textContent === "Keys that begin with acme/1"`)
	require.Equal(t, []string{"acme/1"}, b.texts("tbody th"))
	b.run(click("tbody th a"))
	b.waitFor(`document.querySelector("h1")?.textContent === "Item"`)
	require.Equal(t, "delayed", b.text("tbody td"))
	b.run(click(`form:has([value="retry"]) button`))
	b.waitFor(`document.querySelector("tbody td")?.textContent === "ready"`)
	failWith(t, q, errors.New("down")) // the page of the item is live
	b.waitForText(`[data-table="found.items"] tbody td`, "in flight")
	b.waitForText(`[data-table="found.failures"] .error`, "down")
	require.False(t, evaluate[bool](b, `document.querySelector('form:has([value="retry"])').checkVisibility()`))
	b.run(chromedp.Navigate(evaluate[string](b, `document.querySelector(".head a").href`)), chromedp.SendKeys(`[name="key"]`, "acme/12\r"))
	b.waitFor(`document.querySelector("tbody th a")?.textContent === "acme/12"`)
	b.run(click("tbody th a"))
	b.waitFor(`document.querySelector("h1")?.textContent === "Item"`)
	b.run(click(`form:has([value="cancel"]) button`))
	b.waitFor(`document.querySelector(".notice")?.textContent.startsWith("The queue does not hold this item")`)
	require.Equal(t, 1, q.Stats().Held)
	b.requireNoComplaints()
}

// TestValuesOfACoalescer checks the pending values and the share of merged puts
// as they change, that the page says when the coalescer is full, and that a
// large weight, of bytes for example, fits its tile.
func TestValuesOfACoalescer(t *testing.T) {
	b := newTab(t)
	c := coalesce.MustNew(coalesce.Options[int, int]{
		Queue: shardq.Options[int]{Name: "clicks", Metrics: true}, Capacity: 2_000_000_000,
		Merge: func(pending, next int) int { return pending + next }, Weight: func(value int) int { return value },
	})
	put := func(key, value int) { require.NoError(t, c.Put(key, value)) }
	put(0, 1000) // before the first reading
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{c.Queue()}}))
	require.Equal(t, "1,000", b.text(`.tile [data-value="values.weight"]`))
	require.Equal(t, " of 2.0 G", b.text(`.tile b small`))
	require.Equal(t, "–", b.text(`.tile [data-share="values.merged"]`), "nothing was put since the first reading")
	for range 4 {
		put(1, 10)
	}
	b.waitForText(`.tile [data-share="values.merged"]`, "75 %")
	b.waitForText(`.tile [data-value="values.weight"]`, "1,040")
	put(2, 2_000_000_000)
	b.waitFor(`document.querySelector(".verdict").textContent.startsWith("full: ")`)
	b.waitForText(`[data-value="values.overCapacity"]`, "1")
	b.run(chromedp.EmulateViewport(360, 800))
	b.waitForFrames(2)
	require.Empty(t, evaluate[[]string](b, `[...document.querySelectorAll(".tile, .tile b")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)`))
	b.requireNoComplaints()
}
