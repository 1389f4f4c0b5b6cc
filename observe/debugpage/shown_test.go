package debugpage

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// TestShownItemsAreBounded checks that the items that were shown last are
// remembered, and not many others.
func TestShownItemsAreBounded(t *testing.T) {
	var s shownItems
	_, ok := s.get("0")
	require.False(t, ok)
	for n := range 3 * maxShown {
		s.add(fmt.Sprint(n), n)
		s.add("again", "again")
		require.LessOrEqual(t, len(s.recent)+len(s.older), maxShown)
	}
	for n := 3*maxShown - maxShown/2 + 2; n < 3*maxShown; n++ {
		item, ok := s.get(fmt.Sprint(n))
		require.True(t, ok)
		require.Equal(t, n, item)
	}
	_, ok = s.get("0")
	require.False(t, ok)
	item, _ := s.get("again")
	require.Equal(t, "again", item)
}

// TestItemsOfALargeQueue checks that links and actions reach an item that a
// search does not reach, and that a page whose search ended early does not deny
// that the queue holds the item.
func TestItemsOfALargeQueue(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "invoices", Clock: newFake()})
	for n := range maxVisited {
		q.Add(fmt.Sprint("flood/", n))
	}
	q.AddAfter("acme/later", time.Hour)
	d := &desk{t: t, h: must(t, Options{
		Queues: []shardq.Inspector{q}, AllowActions: Local, Logger: slog.New(slog.DiscardHandler),
	})}
	id := itemID("acme/later")
	page := get(t, d.h, "?item="+id)
	require.Contains(t, page, "only the first 200,000 were searched")
	require.NotContains(t, page, "does not hold this item")
	require.NotContains(t, page, "No item.")
	unreached := d.press("retry", "item", id)
	require.Equal(t, http.StatusNotFound, unreached.Code)
	require.Contains(t, unreached.Body.String(), "not among the first 200,000")

	require.Contains(t, get(t, d.h, ""), "item="+id)
	require.Equal(t, []string{"retry", "cancel"}, buttons(t, d.h, "?item="+id))
	d.done(d.press("retry", "item", id), "?item="+id+"&queue=invoices")
	info, held := q.Lookup("acme/later")
	require.True(t, held)
	require.Equal(t, stats.Ready, info.State)
	d.done(d.press("cancel", "item", id), "?item="+id+"&queue=invoices")
	require.Contains(t, get(t, d.h, "?item="+id), "does not hold this item")
}

// TestButtonsOfAKey checks that a search that finds one item offers the buttons
// of the item.
func TestButtonsOfAKey(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, []string{"retry", "cancel"}, buttons(t, d.h, "?key=acme/later"))
	require.Equal(t, []string{"retry", "cancel"}, buttons(t, d.h, "?key=acme/lat"))
	require.Empty(t, buttons(t, d.h, "?key=acme/"), "several items")
	require.Empty(t, buttons(t, d.h, "?key=acme/&rows=1"), "several items")
	require.Empty(t, buttons(t, d.h, "?key=other"))
	d.done(d.press("retry", "item", itemID("acme/later")), "?item="+itemID("acme/later")+"&queue=invoices")
}

// TestSearchShowsOnlyItsRows checks that the items that a search visits do not
// take the place of those that were shown.
func TestSearchShowsOnlyItsRows(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Group: func(int) string { return "all" }})
	q.AddAfter(-1, time.Hour)
	for n := range 2 * maxShown {
		q.Add(n)
	}
	h := Handler(q)
	get(t, h, "")
	get(t, h, "?group="+groupID("all"))
	_, ok := h.(*handler).shown.get(itemID(-1))
	require.True(t, ok)
}
