package debugpage

import (
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

func keysOf(items []item) (keys []string) {
	for _, i := range items {
		keys = append(keys, i.Key)
	}
	return keys
}

// TestSearchByKey checks that an exact match comes alone, and otherwise those
// that begin with the text.
func TestSearchByKey(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Shards: 1})
	for _, key := range []string{"acme/10", "acme/1", "acme/12", "globex/1"} {
		q.Add(key)
	}
	q.AddAfter("acme/later", time.Hour)
	h := Handler(q)
	find := func(h http.Handler, query string) *foundReport {
		r := getReport(t, h, query).Queues[0]
		require.Nil(t, r.Detail)
		return r.Found
	}
	require.Equal(t, []string{"acme/1"}, keysOf(find(h, "&key=acme/1").Items))
	require.Equal(t, []string{"acme/10", "acme/1", "acme/12", "acme/later"}, keysOf(find(h, "&key=acme/").Items))
	require.Equal(t, []string{"acme/10", "acme/1"}, keysOf(find(h, "&key=acme/&rows=2").Items))
	require.Empty(t, find(h, "&key=other").Items)

	type number int
	numbers := shardq.MustNew(shardq.Options[number]{Name: "numbers", Shards: 1})
	for n := range 30 {
		numbers.Add(number(n))
	}
	require.Equal(t, []string{"2"}, keysOf(find(Handler(numbers), "&key=2").Items), "the exact one alone")

	hidden := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(_ string, item any) string { return strings.ToUpper(item.(string)) }})
	require.Empty(t, find(hidden, "&key=acme/1").Items, "a hidden key cannot be guessed")
	require.Equal(t, []string{"ACME/1"}, keysOf(find(hidden, "&key=ACME/1").Items))
}

// TestPagesOfItemsAndGroups follows the links of the rows.
func TestPagesOfItemsAndGroups(t *testing.T) {
	h := Handler(eventful(t))
	d := getReport(t, h, "").Queues[0].Detail
	first := d.Processing[0]
	found := getReport(t, h, "&item="+first.ID).Queues[0].Found
	require.Equal(t, []item{first}, found.Items)
	require.Equal(t, 1, first.Attempt, "the first attempt")
	require.Equal(t, "in flight", first.State)
	failed := getReport(t, h, "&item="+d.Failures[0].ID).Queues[0].Found
	require.Equal(t, d.Failures[0].Error, failed.Failure.Error)
	page := get(t, h, "?item="+d.Failures[0].ID)
	require.Contains(t, page, d.Failures[0].Error)
	require.Contains(t, get(t, h, "?item=0000000000000000"), "does not hold this item")

	group := getReport(t, h, "&group="+d.Groups[0].ID).Queues[0].Found
	require.Equal(t, d.Groups[0], *group.Group)
	require.NotNil(t, group.OldestReadySeconds)
	require.Equal(t, d.Groups[0].OldestReadySeconds, group.OldestReadySeconds)
	require.Len(t, group.Items, d.Groups[0].Held)
	require.Contains(t, get(t, h, "?group="+d.Groups[0].ID+"&format=text"), "Oldest ready")
	require.Contains(t, get(t, h, ""), "group="+d.Groups[0].ID)
	require.Equal(t, 400, ask(Handler(eventful(t), eventful(t)), request("GET", "?item=x")).Code)
}

// An unlisted queue lists no item.
type unlisted struct{ stats.Inspection }

func (unlisted) All(stats.State) iter.Seq[stats.Item[any]] {
	return func(func(stats.Item[any]) bool) {}
}

// TestAgeOfAGroup checks that the page of a group has the age that the page of
// the queue has, also if the search does not reach an item of the group.
func TestAgeOfAGroup(t *testing.T) {
	q := eventful(t)
	h := Handler(altered{q, unlisted{q.Inspect()}})
	age := getReport(t, h, "").Queues[0].Detail.Groups[0].OldestReadySeconds
	require.NotNil(t, age)
	require.Equal(t, age, getReport(t, h, "&group="+groupID("globex")).Queues[0].Found.OldestReadySeconds)
	require.Contains(t, get(t, h, "?group="+groupID("globex")), "<dt>Oldest ready</dt><dd>46 ms</dd>")
}

// TestLinksKeepTheRows checks that the reader keeps the number of rows on the
// way to an item, a group or a search, and back.
func TestLinksKeepTheRows(t *testing.T) {
	q := eventful(t)
	h := Handler(q, shardq.MustNew(shardq.Options[int]{Name: "other"}))
	for _, rows := range []string{"", "&amp;rows=8", "&amp;rows=12", "&amp;rows=25"} {
		asked := strings.ReplaceAll(rows, "amp;", "")
		queue := get(t, h, "?queue=invoices"+asked)
		for _, link := range []string{"?item=" + itemID("acme/1"), "?group=" + groupID("acme")} {
			require.Contains(t, queue, `"`+link+`&amp;queue=invoices`+rows+`"`)
			require.Contains(t, get(t, h, link+"&queue=invoices"+asked), `<a href="?queue=invoices`+rows+`">of`)
		}
		require.Contains(t, get(t, h, "?key=acme&queue=invoices"+asked), `<a href="?queue=invoices`+rows+`">of`)
		require.Equal(t, rows != "", strings.Contains(queue, `<input type="hidden" name="rows" value="`+strings.TrimPrefix(asked, "&rows=")+`">`))
	}
	d := newDesk(t)
	form := d.form("token", d.h.(*handler).token, "action", "pause", "queue", "invoices")
	form.URL.RawQuery = "queue=invoices&rows=12"
	d.done(ask(d.h, form), "?queue=invoices&rows=12")
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
	at := func(minute int, text string) stats.Failure[any] {
		return stats.Failure[any]{Item: "acme/1", Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC), Error: text}
	}
	q := shardq.MustNew(shardq.Options[string]{Name: "q"})
	for want, f := range map[string]failing{
		"newer failure": {q.Inspect(), []stats.Failure[any]{at(3, "newer failure"), at(1, "old")}, []stats.Failure[any]{at(2, "older discard")}},
		"newer discard": {q.Inspect(), []stats.Failure[any]{at(3, "older failure")}, []stats.Failure[any]{at(4, "newer discard"), at(2, "old")}},
		"discard":       {q.Inspect(), []stats.Failure[any]{at(3, "failure")}, []stats.Failure[any]{at(3, "discard")}},
		"only failure":  {q.Inspect(), []stats.Failure[any]{at(3, "only failure")}, nil},
	} {
		found := getReport(t, Handler(altered{q, f}), "&item="+itemID("acme/1")).Queues[0].Found
		require.Equal(t, want, found.Failure.Error)
	}
}

// TestOneRowForEachWorker checks that a batch takes one row, which leads to the
// others.
func TestOneRowForEachWorker(t *testing.T) {
	rows := make([]stats.Item[any], 6)
	for i, worker := range []int{3, 3, 0, 3, 5, 0} {
		rows[i] = stats.Item[any]{Item: i, Worker: worker}
	}
	first, sizes := byWorker(rows, 10)
	require.Equal(t, []stats.Item[any]{rows[0], rows[2], rows[4], rows[5]}, first)
	require.Equal(t, []int{3, 1, 1, 1}, sizes)
	first, _ = byWorker(rows, 2)
	require.Len(t, first, 2)

	q := shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 1, Metrics: true})
	for n := range 60 {
		q.Add(n)
	}
	_, show, closeSlot := q.Inspect().(worker.Slots[int]).OpenSlot()
	defer closeSlot()
	claims := make([]worker.Claim[int], 50)
	_, err := q.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	var batch []int
	for _, claim := range claims {
		batch = append(batch, claim.Item)
	}
	show(batch)
	single, _ := q.Get()
	h := Handler(q)
	d := getReport(t, h, "&rows=5").Queues[0].Detail
	require.Len(t, d.Processing, 2)
	require.Equal(t, 50, d.Processing[0].Batch)
	require.Equal(t, fmt.Sprint(single), d.Processing[1].Key)
	require.Contains(t, get(t, h, ""), "and 49 more of this worker")
	found := getReport(t, h, fmt.Sprint("&rows=25&worker=", d.Processing[0].Worker)).Queues[0].Found
	require.Len(t, found.Items, 25)
	one := getReport(t, h, "&item="+found.Items[24].ID).Queues[0].Found
	require.Equal(t, found.Items[24].Key, one.Items[0].Key)
	require.Equal(t, d.Processing[0].Worker, one.Items[0].Worker)
}
