package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/observe/debugpage"
)

// TestValuesOfACoalescer checks the pending values and the share of merged puts
// as they change, and that the page says when the coalescer is full.
func TestValuesOfACoalescer(t *testing.T) {
	b := newTab(t)
	c := coalesce.MustNew(coalesce.Options[int, int]{
		Queue:    shardq.Options[int]{Name: "clicks", Metrics: true},
		Merge:    func(pending, next int) int { return pending + next },
		Weight:   func(value int) int { return value },
		Capacity: 5000,
	})
	put := func(key, value int) { require.NoError(t, c.Put(key, value)) }
	put(0, 1000) // before the first reading
	for range 7 {
		put(0, 1)
	}
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{c.Queue()}}))
	require.Equal(t, "1,007", b.text(`.tile [data-value="values.weight"]`))
	require.Equal(t, " of 5,000", b.text(`.tile b small`))
	merged := `.tile [data-share="values.merged"]`
	require.Equal(t, "–", b.text(merged), "nothing was put since the first reading")
	require.Equal(t, "87 %", b.text(`[data-value="values.mergedShare"]`))

	put(1, 10)
	for range 3 {
		put(1, 20)
	}
	b.waitForText(merged, "75 %")
	b.waitForText(`.tile [data-value="values.weight"]`, "1,077")
	b.waitForText(`.tile [data-value="values.keys"]`, "2")
	b.waitForText(`[data-value="values.put"]`, "12")
	b.waitFor(`document.querySelector(` + "`.tile [data-rate=\"values.put\"]`" + `).textContent !== "–"`)

	put(1, 1) // a graph needs two readings with puts
	b.waitForText(merged, "80 %")
	b.waitFor(`/^Merged share, last .*, now 100 %$/.test(document.querySelector("[data-graph='values.merged'] svg")?.getAttribute("aria-label"))`)

	put(2, 4000)
	b.waitFor(`document.querySelector(".verdict").textContent.startsWith("full: ")`)
	b.waitForText(`[data-value="values.overCapacity"]`, "1")
	b.requireNoComplaints()
}

// TestLargeWeights checks that a large weight, of bytes for example, fits its
// tile at any width, and that its title has the whole number.
func TestLargeWeights(t *testing.T) {
	for weighs, want := range map[int64]string{
		9_999_999:         "9,999,999 of 9,999,999",
		10_737_418_240:    "10 G of 10 G",
		1_099_511_627_776: "1.0 T of 1.0 T",
	} {
		weight := int(weighs)
		if int64(weight) != weighs {
			continue // on a 32-bit platform
		}
		b := newTab(t)
		c := coalesce.MustNew(coalesce.Options[string, int]{
			Queue:    shardq.Options[string]{Name: "uploads", Metrics: true},
			Merge:    func(pending, next int) int { return pending + next },
			Weight:   func(value int) int { return value },
			Capacity: weight,
		})
		require.NoError(t, c.Put("first", weight))
		b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{c.Queue()}}))
		tile := `.tile:has([data-value="values.weight"])`
		require.Equal(t, want, b.text(tile+" b"))
		require.Equal(t, fmt.Sprint(weight), strings.ReplaceAll(b.attributes(tile+" b span", "title")[0], ",", ""))
		for _, width := range []int64{1280, 390, 360} {
			b.run(chromedp.EmulateViewport(width, 800))
			b.waitForFrames(2)
			require.Empty(t, evaluate[[]string](b, `[...document.querySelectorAll(".tile, .tile b")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)`), width)
			requireAsWideAs(b, width)
		}
		b.requireNoComplaints()
	}
}
