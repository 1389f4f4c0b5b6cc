package debugpage

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// clicks returns a coalescer with a delayed key, and a ready one in each of two
// groups.
func clicks(t *testing.T) *coalesce.Coalescer[string, int] {
	t.Helper()
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{
			Name: "invoices", Shards: 1, Clock: newFake(), Metrics: true,
			Group: func(key string) string { tenant, _, _ := strings.Cut(key, "/"); return tenant },
		},
		Merge: func(pending, next int) int { return pending + next },
	})
	require.NoError(t, c.Put("acme/1", 1))
	require.NoError(t, c.Put("globex/1", 2))
	require.NoError(t, c.PutWith("acme/later", 3, coalesce.PutOptions{Delay: time.Hour}))
	return c
}

// newClicksDesk returns a page with the actions of a coalescer.
func newClicksDesk(t *testing.T) (*desk, *coalesce.Coalescer[string, int]) {
	c := clicks(t)
	d := &desk{t: t, crew: &crew{3}, log: &bytes.Buffer{}}
	workers := map[shardq.Inspector]Resizer{c: d.crew, clicks(t): &crew{1}}
	d.h = must(t, Options{
		Queues:       []shardq.Inspector{c},
		AllowActions: Local,
		Workers:      func(queue shardq.Inspector) Resizer { return workers[queue] },
		Logger:       slog.New(slog.NewTextHandler(d.log, nil)),
	})
	return d, c
}

// TestActionsOnKeysOfACoalescer retries a delayed key at once, with its value,
// and drops the value of another one.
func TestActionsOnKeysOfACoalescer(t *testing.T) {
	d, c := newClicksDesk(t)
	id := itemID("acme/later")
	require.Equal(t, []string{"retry", "cancel"}, buttons(t, d.h, "?item="+id))
	require.Contains(t, get(t, d.h, "?item="+id), "Drop the value")
	d.done(d.press("retry", "item", id), "?item="+id+"&queue=invoices")
	require.Equal(t, 3, c.Queue().Len())
	require.Equal(t, 3, c.Len(), "every value is pending")
	again := d.press("retry", "item", id)
	require.Equal(t, http.StatusConflict, again.Code, "it is not delayed any more")
	require.Equal(t, []string{"cancel"}, buttons(t, d.h, "?item="+id))

	d.done(d.press("cancel", "item", id), "?item="+id+"&queue=invoices")
	require.Equal(t, 2, c.Len())
	require.Contains(t, d.log.String(), "action=cancel")
	require.Contains(t, d.log.String(), "queue=invoices item=acme/later")
	require.Equal(t, http.StatusNotFound, d.press("cancel", "item", id).Code)

	key, _, err := c.Take(t.Context())
	require.NoError(t, err)
	taken := d.press("cancel", "item", itemID(key))
	require.Equal(t, http.StatusConflict, taken.Code, "a worker has its value")
}

// TestActionsOnACoalescer pauses and resumes its keys and those of a group, and
// resizes its workers.
func TestActionsOnACoalescer(t *testing.T) {
	d, c := newClicksDesk(t)
	require.Equal(t, []string{"pause", "resize"}, buttons(t, d.h, ""))
	d.done(d.press("pause"), "?queue=invoices")
	require.True(t, c.Stats().Paused)
	require.Equal(t, []string{"resume", "resize"}, buttons(t, d.h, ""))
	d.done(d.press("resume"), "?queue=invoices")
	require.False(t, c.Stats().Paused)

	group, page := groupID("globex"), "?group="+groupID("globex")
	require.Equal(t, []string{"pause-group"}, buttons(t, d.h, page))
	d.done(d.press("pause-group", "group", group, "minutes", "7"), page+"&queue=invoices")
	require.Contains(t, get(t, d.h, page), "<dt>Throttled</dt><dd>paused for another 7 m 00 s</dd>")
	require.Equal(t, []string{"pause-group", "resume-group"}, buttons(t, d.h, page))
	d.done(d.press("resume-group", "group", group), page+"&queue=invoices")
	require.Zero(t, c.Stats().ThrottledByPause)

	d.done(d.press("resize", "workers", "12"), "?queue=invoices")
	require.Equal(t, 12, d.crew.n)
	require.Equal(t, 5, strings.Count(d.log.String(), "did an action"))
}

// TestControlsAreShownAsTheView checks that the page of Controls is that of the
// view, with its name and its values, and that it keeps its name and its
// instance in each request.
func TestControlsAreShownAsTheView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the time is fixed
		c := counting(t)
		h := reproducible(must(t, Options{Queues: []shardq.Inspector{c}}))
		golden(t, "coalescer.json", indented(t, get(t, h, "?format=json")))
		golden(t, "coalescer.txt", get(t, h, "?format=text"))
	})
	first, second := clicks(t), clicks(t)
	list := []shardq.Inspector{first, second}
	h := must(t, Options{List: func() []shardq.Inspector { return list }})
	before := getReport(t, h, "").Queues
	require.Equal(t, "invoices", before[0].ID)
	list = []shardq.Inspector{second}
	after := getReport(t, h, "").Queues
	require.Equal(t, before[1].ID, after[0].ID)
	require.Equal(t, before[1].Instance, after[0].Instance)
}

// TestViewOfACoalescerIsReadOnly checks that a view has no actions.
func TestViewOfACoalescerIsReadOnly(t *testing.T) {
	c := clicks(t)
	d := &desk{t: t, h: must(t, Options{
		Queues: []shardq.Inspector{c.Queue()}, AllowActions: Local, Logger: slog.New(slog.DiscardHandler),
	})}
	require.Empty(t, buttons(t, d.h, ""))
	require.Empty(t, buttons(t, d.h, "?item="+itemID("acme/1")))
	for _, action := range []string{"pause", "resume", "resume-group", "retry", "cancel"} {
		require.Equal(t, http.StatusBadRequest, d.press(action).Code, action)
	}
}
