package debugpage

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// A crew has a number of workers, and an illCrew panics.
type (
	crew    struct{ n int }
	illCrew struct{}
)

func (c *crew) Len() int     { return c.n }
func (c *crew) Resize(n int) { c.n = n }
func (illCrew) Len() int     { panic("ill") }
func (illCrew) Resize(int)   { panic("ill") }

// A desk is a page with actions.
type desk struct {
	*testing.T
	h    http.Handler
	crew *crew
	log  *bytes.Buffer
}

func newDesk(t *testing.T, queue shardq.Inspector) *desk {
	d := &desk{t, nil, &crew{3}, &bytes.Buffer{}}
	workers := map[shardq.Inspector]Resizer{queue: d.crew}
	d.h = must(t, Options{
		Queues:       []shardq.Inspector{queue},
		AllowActions: func(r *http.Request, _ Action) bool { return r.Header.Get("X-Role") != "reader" },
		Workers:      func(queue shardq.Inspector) Resizer { return workers[queue] },
		Logger:       slog.New(slog.NewTextHandler(d.log, nil)),
	})
	return d
}

// form returns a form of an action, with pairs of names and values. An empty
// value stands for none.
func (d *desk) form(action string, pairs ...string) *http.Request {
	values := url.Values{"token": {d.h.(*handler).token}, "action": {action}, "queue": {"invoices"}}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest("POST", "/debug/queues", strings.NewReader(values.Encode()))
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost:6060"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// press sends a form, whose answer must have the status.
func (d *desk) press(status int, action string, pairs ...string) string {
	w := ask(d.h, d.form(action, pairs...))
	require.Equal(d, status, w.Code, w.Body.String())
	return w.Header().Get("Location")
}

// buttons returns the actions that a page offers.
func (d *desk) buttons(query string) (all []string) {
	pattern := regexp.MustCompile(`<form method="post"(?: data-paused="\w+")?>\s.* name="action" value="([^"]*)"`)
	for _, found := range pattern.FindAllStringSubmatch(get(d.T, d.h, query), -1) {
		all = append(all, found[1])
	}
	return all
}

// clicks returns a coalescer with the keys of eventful that the actions change.
func clicks(t *testing.T) *coalesce.Coalescer[string, int] {
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

// TestActions does each action, on a queue and on a coalescer.
func TestActions(t *testing.T) {
	q, c := eventful(t), clicks(t)
	for name, queue := range map[string]shardq.Inspector{"queue": q, "coalescer": c} {
		d := newDesk(t, queue)
		id, gone := itemID("acme/later"), 409
		page, held := "?item="+id+"&queue=invoices", queue.Stats().Held
		require.Equal(t, []string{"retry", "cancel"}, d.buttons("?item="+id), name)
		require.Equal(t, []string{"retry", "cancel"}, d.buttons("?key=acme/lat"), name)
		require.Empty(t, d.buttons("?key=acme/"), "several items")
		require.Empty(t, d.buttons("?key=acme/&rows=1"), "several items")
		require.Equal(t, name == "coalescer", strings.Contains(get(t, d.h, "?item="+id), "Drop the value"))
		require.Equal(t, page, d.press(303, "retry", "item", id))
		require.Contains(t, d.log.String(), "action=retry remote=127.0.0.1:40000 queue=invoices item=acme/later")
		d.press(409, "retry", "item", id)
		require.Equal(t, []string{"cancel"}, d.buttons("?item="+id), "it is not delayed any more")
		require.Equal(t, page, d.press(303, "cancel", "item", id))
		require.Equal(t, held-1, queue.Stats().Held)
		d.press(404, "cancel", "item", id)

		require.Equal(t, []string{"pause", "resize"}, d.buttons(""))
		require.Equal(t, "?queue=invoices", d.press(303, "pause"))
		now, since := queue.Inspect().Snapshot(0).Time, queue.Stats().PausedSince
		require.WithinDuration(t, now, since, time.Millisecond)
		require.Equal(t, []string{"resume", "resize"}, d.buttons(""))
		d.press(303, "resume")
		require.False(t, queue.Stats().Paused)

		page = "?group=" + groupID("globex")
		require.Equal(t, []string{"pause-group"}, d.buttons(page))
		require.Equal(t, page+"&queue=invoices", d.press(303, "pause-group", "group", groupID("globex"), "minutes", "7"))
		require.EqualValues(t, 420, getQueue(t, d.h, "&"+page[1:]).Found.Group["pauseLeftSeconds"])
		require.Equal(t, []string{"pause-group", "resume-group"}, d.buttons(page))
		d.press(303, "resume-group", "group", groupID("globex"))
		require.Zero(t, queue.Stats().ThrottledByPause)

		form := d.form("resize", "workers", "12")
		form.URL.RawQuery = "queue=invoices&rows=12"
		require.Equal(t, "?queue=invoices&rows=12", ask(d.h, form).Header().Get("Location"), "it keeps the rows")
		require.Equal(t, 12, d.crew.n)
		require.Equal(t, 7, strings.Count(d.log.String(), "did an action"))

		if name == "coalescer" {
			_, _, err := c.Take(t.Context())
			require.NoError(t, err)
			d.press(gone, "cancel", "item", itemID("acme/1")) // a worker has its value
		}
	}
}

// TestRefusedActions checks that nothing changes, that the answer says why, and
// that the log has it.
func TestRefusedActions(t *testing.T) {
	q := eventful(t)
	d := newDesk(t, q)
	with := func(change func(r *http.Request)) *http.Request {
		r := d.form("pause")
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		r    *http.Request
		code int
	}{
		"a reader":       {with(func(r *http.Request) { r.Header.Set("X-Role", "reader") }), 403},
		"another site":   {with(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }), 403},
		"another origin": {with(func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://example.com") }), 403},
		"not allowed":    {with(func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" }), 403},
		"no token":       {d.form("pause", "token", ""), 403},
		"wrong token":    {d.form("pause", "token", d.h.(*handler).token+"x"), 403},
		"in the query": {with(func(r *http.Request) {
			r.URL.RawQuery = url.Values{"token": {d.h.(*handler).token}, "action": {"pause"}, "queue": {"invoices"}}.Encode()
			r.Body = http.NoBody
		}), 403},
		"large":         {d.form("pause", "token", strings.Repeat("x", maxForm+1)), 400},
		"other action":  {d.form("drop"), 400},
		"other queue":   {d.form("pause", "queue", "other"), 404},
		"other group":   {d.form("resume-group", "group", "x"), 404},
		"no item":       {d.form("cancel"), 404},
		"no minutes":    {d.form("pause-group", "group", groupID("acme")), 400},
		"many minutes":  {d.form("pause-group", "group", groupID("acme"), "minutes", "10081"), 400},
		"many workers":  {d.form("resize", "workers", "10001"), 400},
		"no whole crew": {d.form("resize", "workers", "1.5"), 400},
	} {
		before := strings.Count(d.log.String(), "refused an action")
		w := ask(d.h, c.r)
		require.Equal(t, c.code, w.Code, "%s: %s", name, w.Body.String())
		require.Equal(t, before+1, strings.Count(d.log.String(), "refused an action"), name)
	}
	require.Equal(t, 400, ask(d.h, request("GET", "?action=pause")).Code)
	require.False(t, q.Stats().Paused)
	require.Zero(t, q.Stats().ThrottledByPause)
	require.Equal(t, 3, d.crew.n)
	require.NotContains(t, d.log.String(), "did an action")
	require.NotContains(t, d.log.String(), d.h.(*handler).token)
	require.Contains(t, d.log.String(), `remote=192.0.2.1:1 error="access denied`)
	d.press(303, "pause")
	other := with(func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") })
	require.Equal(t, 303, ask(d.h, other).Code, "a client that is no browser needs only the token")
}

// TestOnlyWhatTheQueueCanDo checks that there is no button without its method,
// and no action without AllowActions.
func TestOnlyWhatTheQueueCanDo(t *testing.T) {
	plain := newQueue("invoices")
	plain.Add("acme/1")
	d := newDesk(t, plain)
	require.Empty(t, d.buttons("?group="+groupID("")))
	d.press(400, "pause-group", "group", groupID(""), "minutes", "1") // without groups, the queue would panic

	d = newDesk(t, clicks(t).Queue())
	require.Equal(t, []string{"resize"}, d.buttons(""))
	require.Empty(t, d.buttons("?item="+itemID("acme/1")))
	for _, action := range []string{"pause", "resume", "resume-group", "retry", "cancel"} {
		d.press(400, action)
	}
	d.h = Handler(eventful(t))
	require.Empty(t, d.buttons("?item="+itemID("acme/1")))
	require.Contains(t, get(t, d.h, ""), "This page is read-only.")
	require.NotContains(t, get(t, d.h, ""), d.h.(*handler).token)
}

// TestRightsDifferByActionAndTarget checks that the page offers, and does, what
// AllowActions allows of the queue, of one item and of one group.
func TestRightsDifferByActionAndTarget(t *testing.T) {
	q := eventful(t)
	d := newDesk(t, q)
	d.h.(*handler).options.AllowActions = func(_ *http.Request, a Action) bool {
		return a.Queue == q && (a.Name == "resize" || a.Item == "acme/later" || a.Name == "pause-group" && a.Group == "acme")
	}
	require.Equal(t, []string{"resize"}, d.buttons(""))
	d.press(403, "pause")
	d.press(303, "resize", "workers", "1")
	require.Equal(t, []string{"retry", "cancel"}, d.buttons("?item="+itemID("acme/later")))
	require.Empty(t, d.buttons("?item="+itemID("acme/failing")))
	d.press(403, "retry", "item", itemID("acme/failing"))
	d.press(303, "retry", "item", itemID("acme/later"))
	require.Equal(t, []string{"pause-group"}, d.buttons("?group="+groupID("acme")))
	require.Empty(t, d.buttons("?group="+groupID("globex")))
	d.press(403, "pause-group", "group", groupID("globex"), "minutes", "1")
	d.press(303, "pause-group", "group", groupID("acme"), "minutes", "1")
	require.False(t, q.Stats().Paused)
}

// TestNoPauseDuringAShutdown checks that a click cannot keep a drain from its
// end, and that a paused queue or group can still be resumed.
func TestNoPauseDuringAShutdown(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "invoices", Group: func(string) string { return "acme" }})
	q.Add("acme/1")
	d := newDesk(t, q)
	require.Contains(t, get(t, d.h, ""), "No worker gets an item until somebody resumes the queue.")
	d.press(303, "pause")
	q.ShutDown()
	require.Equal(t, []string{"resume", "resize"}, d.buttons(""))
	d.press(303, "resume")
	d.press(409, "pause")
	d.press(409, "resize", "workers", "0")
	d.press(303, "resize", "workers", "1")
	acme := groupID("acme")
	require.Empty(t, d.buttons("?group="+acme))
	d.press(409, "pause-group", "group", acme, "minutes", "1")
	q.PauseGroup("acme", time.Time{})
	require.Equal(t, []string{"resume-group"}, d.buttons("?group="+acme))
	d.press(303, "resume-group", "group", acme)
	require.False(t, q.Stats().Paused)
}

// TestOptionsThatPanic checks that the page works without the buttons, and that
// the answer to an action and the log say why.
func TestOptionsThatPanic(t *testing.T) {
	crews := map[string]*crew{}
	for name, c := range map[string]struct {
		workers func(shardq.Inspector) Resizer
		code    int
		log     string
	}{
		"none":          {func(shardq.Inspector) Resizer { return nil }, 400, ""},
		"a nil pointer": {func(queue shardq.Inspector) Resizer { return crews[queue.Name()] }, 400, ""},
		"a panic":       {func(shardq.Inspector) Resizer { panic("no pool") }, 500, `Workers panicked" panic="no pool"`},
		"ill workers":   {func(shardq.Inspector) Resizer { return illCrew{} }, 500, `Workers panicked" panic=ill`},
	} {
		d := newDesk(t, newQueue("invoices"))
		d.h.(*handler).options.Workers = c.workers
		require.Equal(t, []string{"pause"}, d.buttons(""), name)
		require.Contains(t, d.log.String(), c.log, name)
		d.press(c.code, "resize", "workers", "1")
		d.press(303, "pause")
	}
	q := newQueue("invoices")
	d := newDesk(t, q)
	d.h.(*handler).options.AllowActions = func(*http.Request, Action) bool { panic("no session") }
	require.Empty(t, d.buttons(""))
	require.Contains(t, d.log.String(), `AllowActions panicked" panic="no session"`)
	d.press(500, "pause")
	require.Contains(t, d.log.String(), "refused an action")
	require.False(t, q.Stats().Paused)
}
