package debugpage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

type (
	orderID  string
	tenantID uint16
	address  struct{ Tenant, Number string }
	// A folded key is shown in lower case, so that several are shown as one.
	folded string
)

func (f folded) String() string { return strings.ToLower(string(f)) }

// TestSearchByKey checks which items a search finds, and how many it visits: an
// exact match comes alone, and a string or a whole number is looked up after
// one item has told the type.
func TestSearchByKey(t *testing.T) {
	const all = -1
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		items   []any
		key     string
		want    []any
		visited int
	}{
		{[]any{"acme/10", "acme/2", "acme/1"}, "acme/1", []any{"acme/1"}, 1},
		{[]any{orderID("acme/10"), orderID("acme/1")}, "acme/1", []any{"acme/1"}, 1},
		{[]any{int64(1), int64(-123), int64(-12)}, "-12", []any{"-12"}, 1},
		{[]any{tenantID(70), tenantID(71), tenantID(7)}, "7", []any{"7"}, 1},
		{[]any{uint64(1), uint64(1<<64 - 1)}, "18446744073709551615", []any{"18446744073709551615"}, 1},
		{[]any{"acme/10", "acme/1", "globex/1", "acme/later"}, "acme/", []any{"acme/10", "acme/1", "acme/later"}, 1 + 4},
		{[]any{address{"acme", "2"}, address{"acme", "1"}}, "{acme 1}", []any{"{acme 1}"}, 1 + 2},
		{[]any{uint16(123), uint16(45), uint16(7)}, "12", []any{"123"}, 1 + 3},
		{[]any{uint16(123), uint16(45), uint16(7)}, "07", nil, 1 + 3},
		{[]any{uint16(123), uint16(45), uint16(7)}, "65543", nil, 1 + 3},
		{[]any{folded("ACME"), folded("Acme/1"), folded("acme")}, "acme", []any{"acme", "acme"}, all},
		{[]any{folded("acme/1"), folded("acme")}, "acme", []any{"acme"}, all},
		{[]any{7, "8", "7"}, "7", []any{"7", "7"}, all},
		{[]any{"70", 7, "71"}, "7", []any{"7"}, all},
		{[]any{nil, "<nil", (*int)(nil)}, "<nil>", []any{"<nil>"}, all},
		{[]any{[1]int{12}, [1]int{1}, [1]int{13}}, "[1]", []any{"[1]"}, all},
		{[]any{[1]int{12}, [1]int{1}, [1]int{13}}, "[1", []any{"[12]", "[1]", "[13]"}, all},
		// The whole key finds a key that is shown cut or quoted, and so does
		// the text that is shown.
		{[]any{orderID(long), orderID("a b ")}, long, []any{long[:maxKeyBytes]}, all},
		{[]any{orderID(long), orderID("a b ")}, long[:maxKeyBytes], []any{long[:maxKeyBytes]}, all},
		{[]any{orderID(long), orderID("a b ")}, "a b ", []any{`"a b "`}, all},
		{[]any{orderID(long), orderID("a b ")}, `"a b "`, []any{`"a b "`}, all},
	} {
		q, visited := newListed(c.items...)
		found := getQueue(t, Handler(q), "&key="+strings.ReplaceAll(c.key, " ", "+")).Found
		require.True(t, found.Complete)
		require.Equal(t, c.want, column(found.Items, "key"), c.key)
		if c.visited != all {
			require.Equal(t, c.visited, *visited, c.key)
		}
	}
}

// TestSearchKeepsKeysHidden checks that RedactKey decides who finds a key, also
// if the key could be looked up.
func TestSearchKeepsKeysHidden(t *testing.T) {
	q, _ := newListed(int64(1001), int64(2001), int64(3), int64(1))
	h := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(_ string, item any) string {
		return fmt.Sprint(item.(int64) % 1000) // hides the thousands
	}})
	for key, want := range map[string][]any{"1001": nil, "2001": nil, "3": {"3"}, "1": {"1", "1", "1"}} {
		require.Equal(t, want, column(getQueue(t, h, "&key="+key).Found.Items, "key"), key)
	}
	panics := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(string, any) string { panic("no") }})
	require.Empty(t, getQueue(t, panics, "&key=1001").Found.Items)
}

// TestLargeQueue checks that a key, links and actions reach an item that a
// search does not reach, and that a page whose search ended early does not deny
// that the queue holds the item.
func TestLargeQueue(t *testing.T) {
	q := newQueue("invoices")
	for n := range maxVisited {
		q.Add(fmt.Sprint("flood/", n))
	}
	q.AddAfter("acme/later", time.Hour)
	d := newDesk(t, q)
	id := itemID("acme/later")
	page := get(t, d.h, "?item="+id)
	require.Contains(t, page, "only the first 200,000 were searched")
	require.NotContains(t, page, "does not hold this item")
	require.NotContains(t, page, "No item.")
	d.press(404, "retry", "item", id)
	require.Contains(t, d.log.String(), "not among the first 200,000")

	found := getQueue(t, d.h, "&key=acme/later").Found
	require.True(t, found.Complete)
	require.Equal(t, []any{"acme/later"}, column(found.Items, "key"))
	get(t, d.h, "?key=flood/") // shows other items, but remembers only those of its rows
	require.Equal(t, []string{"retry", "cancel"}, d.buttons("?item="+id), "it was shown")
	h := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(_ string, item any) string { return fmt.Sprint(item) }})
	require.False(t, getQueue(t, h, "&key=flood/7").Found.Complete, "RedactKey may return that text for others")
	d.press(303, "cancel", "item", id)
	require.Contains(t, get(t, d.h, "?item="+id), "does not hold this item")
}

// TestShownItemsAreBounded checks that the items that were shown last are
// remembered, and not many others.
func TestShownItemsAreBounded(t *testing.T) {
	var s shownItems
	for n := range 3 * maxShown {
		s.add(fmt.Sprint(n), n)
		require.LessOrEqual(t, len(s.recent)+len(s.older), maxShown)
	}
	for n := 3*maxShown - maxShown/2 + 1; n < 3*maxShown; n++ {
		item, _ := s.get(fmt.Sprint(n))
		require.Equal(t, n, item)
	}
	_, ok := s.get("0")
	require.False(t, ok)
}

// TestPagesOfItemsAndGroups follows the links of the rows, which keep the
// number of rows on the way there and back.
func TestPagesOfItemsAndGroups(t *testing.T) {
	h := Handler(eventful(t))
	d := getQueue(t, h, "").Detail
	found := getQueue(t, h, "&item="+d.Processing[0]["id"].(string)).Found
	require.Equal(t, d.Processing[:1], found.Items)
	failed := d.Failures[0]["id"].(string)
	require.Equal(t, d.Failures[0], getQueue(t, h, "&item="+failed).Found.Failure)
	require.Contains(t, get(t, h, "?item="+failed), d.Failures[0]["error"])
	require.Contains(t, get(t, h, "?item=0000000000000000"), "does not hold this item")
	id := d.Groups[0]["id"].(string)
	group := getQueue(t, h, "&group="+id).Found
	require.Equal(t, d.Groups[0], group.Group)
	require.Equal(t, d.Groups[0]["oldestReadySeconds"], group.OldestReadySeconds)
	require.EqualValues(t, d.Groups[0]["held"], len(group.Items))
	require.Contains(t, get(t, h, "?group="+id+"&format=text"), "Throttled by")

	h = Handler(eventful(t), newQueue("other"))
	require.Equal(t, 400, ask(h, request("GET", "?item=x")).Code, "of which queue?")
	for _, rows := range []string{"", "&amp;rows=12"} {
		asked := strings.ReplaceAll(rows, "amp;", "")
		queue := get(t, h, "?queue=invoices"+asked)
		for _, link := range []string{"?item=" + itemID("acme/1"), "?group=" + groupID("acme")} {
			require.Contains(t, queue, `"`+link+`&amp;queue=invoices`+rows+`"`)
			require.Contains(t, get(t, h, link+"&queue=invoices"+asked), `<a href="?queue=invoices`+rows+`">of`)
		}
		require.Equal(t, rows != "", strings.Contains(queue, `<input type="hidden" name="rows" value="12">`))
	}
}

// A failing queue has these failures.
type failing struct {
	stats.Inspection
	failed, discarded []stats.Failure[any]
}

func (f failing) RecentFailures(int) (failed, discarded []stats.Failure[any]) {
	return f.failed, f.discarded
}

// TestLastErrorOfAnItem checks that the page of an item has the later of its
// last failure and its last discard.
func TestLastErrorOfAnItem(t *testing.T) {
	at := func(minute int, text string) []stats.Failure[any] {
		return []stats.Failure[any]{{Item: "acme/1", Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC), Error: text}}
	}
	q := newQueue("q")
	for _, f := range []failing{
		{q.Inspect(), append(at(3, "last"), at(1, "old")...), at(2, "older discard")},
		{q.Inspect(), at(3, "older failure"), append(at(4, "last"), at(2, "old")...)},
		{q.Inspect(), at(3, "failure"), at(3, "last")},
		{q.Inspect(), at(3, "last"), nil},
	} {
		require.Equal(t, "last", getQueue(t, Handler(inspected{q, f}), "&item="+itemID("acme/1")).Found.Failure["error"])
	}
}

// TestBatchesAndStuckItems checks that a batch takes one row, which leads to
// its other items, and that the overview and the page of a queue count the same
// stuck items, with any number of rows.
func TestBatchesAndStuckItems(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Shards: 4, Clock: fake, Metrics: true, StuckAfter: time.Minute})
	takeBatch := func(size int) {
		for n := range size {
			q.Add(fmt.Sprint(q.Stats().Held, "/", n))
		}
		_, show, closeSlot := q.Inspect().(worker.Slots[string]).OpenSlot()
		t.Cleanup(closeSlot)
		claims, items := make([]worker.Claim[string], size), []string{}
		n, err := q.ClaimBatch(t.Context(), claims)
		require.NoError(t, err)
		require.Equal(t, size, n)
		for _, c := range claims {
			items = append(items, c.Item)
		}
		show(items)
	}
	requireStuck := func(want float64, atLeast bool, text string) {
		whole, seen := Handler(q), Handler(q, newQueue("other"))
		for name, r := range map[string]queueReport{
			"overview": getQueue(t, seen, ""), "queue": getQueue(t, whole, ""), "one row": getQueue(t, whole, "&rows=1"),
			"found": getQueue(t, whole, "&key=1"), "not listed": getQueue(t, Handler(struct{ shardq.Inspector }{q}), ""),
		} {
			require.Equal(t, []any{want, atLeast}, []any{r.Gauges["stuck"], r.Gauges["stuckAtLeast"]}, name)
			require.Contains(t, r.Verdict.Text, text)
		}
	}
	takeBatch(100)
	requireStuck(0, false, "keeping up")
	fake.Step(time.Minute)
	takeBatch(30)
	requireStuck(100, false, "100 stuck")
	q.Add("alone")
	take(t, q)
	d := getQueue(t, Handler(q), "&rows=5").Detail
	require.Equal(t, []any{100., 30., nil}, column(d.Processing, "batch"))
	require.Equal(t, "alone", d.Processing[2]["key"])
	require.Contains(t, get(t, Handler(q), ""), "and 99 more of this worker")
	found := getQueue(t, Handler(q), fmt.Sprint("&rows=25&worker=", d.Processing[0]["worker"])).Found
	require.Len(t, found.Items, 25)
	fake.Step(2 * time.Minute)
	takeBatch(1000)
	requireStuck(131, false, "131 stuck")
	fake.Step(2 * time.Minute)
	requireStuck(maxStuck, true, "1,000 or more stuck")
}
