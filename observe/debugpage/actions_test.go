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

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A crew has a number of workers.
type crew struct{ n int }

func (c *crew) Len() int     { return c.n }
func (c *crew) Resize(n int) { c.n = n }

// An illCrew panics.
type illCrew struct{}

func (illCrew) Len() int   { panic("ill") }
func (illCrew) Resize(int) { panic("ill") }

// A desk is a page with actions.
type desk struct {
	t     *testing.T
	h     http.Handler
	queue *shardq.Queue[string]
	crew  *crew
	log   *bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, queue: eventful(t), crew: &crew{3}, log: &bytes.Buffer{}}
	d.h = must(t, Options{
		Queues:       []shardq.Inspector{d.queue},
		AllowActions: func(r *http.Request) bool { return r.Header.Get("X-Role") != "reader" },
		Workers:      func(shardq.Inspector) Resizer { return d.crew },
		Logger:       slog.New(slog.NewTextHandler(d.log, nil)),
	})
	return d
}

// press sends the form of an action, with pairs of names and values.
func (d *desk) press(action string, pairs ...string) *httptest.ResponseRecorder {
	return ask(d.h, d.form(append([]string{"token", d.h.(*handler).token, "action", action, "queue", "invoices"}, pairs...)...))
}

func (d *desk) form(pairs ...string) *http.Request {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest("POST", "/debug/queues", strings.NewReader(values.Encode()))
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost:6060"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func (d *desk) done(w *httptest.ResponseRecorder, back string) {
	d.t.Helper()
	require.Equal(d.t, http.StatusSeeOther, w.Code, w.Body.String())
	require.Equal(d.t, back, w.Header().Get("Location"))
}

// TestActionsOnItems retries a delayed item at once, and cancels it.
func TestActionsOnItems(t *testing.T) {
	d := newDesk(t)
	id := itemID("acme/later")
	require.Contains(t, get(t, d.h, "?item="+id), "Retry now")
	d.done(d.press("retry", "item", id), "?item="+id+"&queue=invoices")
	info, _ := d.queue.Lookup("acme/later")
	require.True(t, info.Deadline.IsZero())
	require.Contains(t, d.log.String(), "action=retry remote=127.0.0.1:40000 queue=invoices item=acme/later")
	require.Equal(t, http.StatusConflict, d.press("retry", "item", id).Code, "it is not delayed any more")
	require.NotContains(t, get(t, d.h, "?item="+id), "Retry now")

	d.done(d.press("cancel", "item", id), "?item="+id+"&queue=invoices")
	_, held := d.queue.Lookup("acme/later")
	require.False(t, held)
	require.Equal(t, http.StatusNotFound, d.press("cancel", "item", id).Code)
	require.Equal(t, http.StatusNotFound, d.press("cancel").Code)
}

// TestActionsOnQueues pauses and resumes a queue and a group, and resizes its
// workers.
func TestActionsOnQueues(t *testing.T) {
	d := newDesk(t)
	d.done(d.press("pause"), "?queue=invoices")
	require.True(t, getReport(t, d.h, "").Queues[0].Gauges.Paused)
	require.True(t, d.queue.Stats().Paused)
	d.done(d.press("resume"), "?queue=invoices")
	require.False(t, d.queue.Stats().Paused)

	group, page := groupID("globex"), "?group="+groupID("globex")
	require.Contains(t, get(t, d.h, page), "<dt>Throttled</dt><dd>no</dd>")
	d.done(d.press("pause-group", "group", group, "minutes", "7"), page+"&queue=invoices")
	require.Contains(t, get(t, d.h, page), "<dt>Throttled</dt><dd>paused for another 7 m 00 s</dd>")
	require.Equal(t, 1, d.queue.Stats().ThrottledByPause)
	d.done(d.press("resume-group", "group", group), page+"&queue=invoices")
	require.Zero(t, d.queue.Stats().ThrottledByPause)

	d.done(d.press("resize", "workers", "12"), "?queue=invoices")
	require.Equal(t, 12, d.crew.n)
	require.Contains(t, d.log.String(), "workers=12")
	require.Equal(t, 5, strings.Count(d.log.String(), "did an action"))
}

// TestRefusedActions checks that nothing changes, that the answer says why, and
// that the log has it.
func TestRefusedActions(t *testing.T) {
	d := newDesk(t)
	token := d.h.(*handler).token
	reader, foreign, get := d.form("token", token, "action", "pause", "queue", "invoices"), d.form("token", token, "action", "pause", "queue", "invoices"), request("GET", "?action=pause&token="+token)
	reader.Header.Set("X-Role", "reader")
	foreign.Header.Set("Sec-Fetch-Site", "same-site")
	remote := d.form("token", token, "action", "pause", "queue", "invoices")
	remote.RemoteAddr = "192.0.2.1:1"
	inQuery := d.form()
	inQuery.URL.RawQuery = url.Values{"token": {token}, "action": {"pause"}, "queue": {"invoices"}}.Encode()
	for name, c := range map[string]struct {
		r    *http.Request
		code int
	}{
		"a reader":      {reader, 403},
		"another site":  {foreign, 403},
		"not allowed":   {remote, 403},
		"no token":      {d.form("action", "pause", "queue", "invoices"), 403},
		"wrong token":   {d.form("token", token+"x", "action", "pause", "queue", "invoices"), 403},
		"a GET":         {get, 400},
		"in the query":  {inQuery, 403},
		"large":         {d.form("token", strings.Repeat("x", maxForm+1)), 400},
		"no action":     {d.form("token", token, "queue", "invoices"), 400},
		"other action":  {d.form("token", token, "action", "drop", "queue", "invoices"), 400},
		"other queue":   {d.form("token", token, "action", "pause", "queue", "other"), 404},
		"other group":   {d.form("token", token, "action", "resume-group", "queue", "invoices", "group", "x"), 404},
		"no minutes":    {d.form("token", token, "action", "pause-group", "queue", "invoices", "group", groupID("acme")), 400},
		"many minutes":  {d.form("token", token, "action", "pause-group", "queue", "invoices", "minutes", "10081"), 400},
		"few workers":   {d.form("token", token, "action", "resize", "queue", "invoices", "workers", "-1"), 400},
		"many workers":  {d.form("token", token, "action", "resize", "queue", "invoices", "workers", "10001"), 400},
		"no whole crew": {d.form("token", token, "action", "resize", "queue", "invoices", "workers", "1.5"), 400},
	} {
		before := strings.Count(d.log.String(), "refused an action")
		w := ask(d.h, c.r)
		require.Equal(t, c.code, w.Code, "%s: %s", name, w.Body.String())
		if c.r.Method == http.MethodPost {
			require.Equal(t, before+1, strings.Count(d.log.String(), "refused an action"), name)
		}
	}
	require.False(t, d.queue.Stats().Paused)
	require.Zero(t, d.queue.Stats().ThrottledByPause)
	require.Equal(t, 3, d.crew.n)
	require.NotContains(t, d.log.String(), "did an action")
	require.NotContains(t, d.log.String(), token)
	require.Contains(t, d.log.String(), "remote=192.0.2.1:1 error=\"access denied")
}

// TestActionOfAnotherClient checks that a client that is no browser needs only
// the token.
func TestActionOfAnotherClient(t *testing.T) {
	d := newDesk(t)
	form := d.form("token", d.h.(*handler).token, "action", "pause", "queue", "invoices")
	form.Header.Del("Sec-Fetch-Site")
	d.done(ask(d.h, form), "?queue=invoices")
	form = d.form("token", d.h.(*handler).token, "action", "resume", "queue", "invoices")
	form.Header.Del("Sec-Fetch-Site")
	form.Header.Set("Origin", "http://example.com")
	require.Equal(t, http.StatusForbidden, ask(d.h, form).Code)
	require.True(t, d.queue.Stats().Paused)
}

// buttons returns the actions that a page offers.
func buttons(t *testing.T, h http.Handler, query string) (all []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`<form method="post"(?: data-paused="\w+")?>\s.* name="action" value="([^"]*)"`).FindAllStringSubmatch(get(t, h, query), -1) {
		all = append(all, found[1])
	}
	return all
}

// TestOnlyWhatTheQueueCanDo checks that there is no button without its method,
// and no action without AllowActions.
func TestOnlyWhatTheQueueCanDo(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, []string{"pause", "resize"}, buttons(t, d.h, ""))
	require.Equal(t, []string{"pause-group"}, buttons(t, d.h, "?group="+groupID("globex")))
	require.Equal(t, []string{"cancel"}, buttons(t, d.h, "?item="+itemID("acme/1")))

	ungrouped := shardq.MustNew(shardq.Options[string]{Name: "invoices"})
	ungrouped.Add("acme/1")
	d.h = must(t, Options{Queues: []shardq.Inspector{ungrouped}, AllowActions: Local, Logger: slog.New(slog.DiscardHandler)})
	require.Equal(t, []string{"pause"}, buttons(t, d.h, ""))
	require.Empty(t, buttons(t, d.h, "?group="+groupID("")))
	w := d.press("pause-group", "group", groupID(""), "minutes", "1")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "cannot do that")

	plain := Handler(eventful(t))
	require.Empty(t, buttons(t, plain, "?item="+itemID("acme/1")))
	require.Contains(t, get(t, plain, ""), "This page is read-only.")
	require.NotContains(t, get(t, plain, ""), plain.(*handler).token)
}

// TestActionThatPanics checks that the answer says so, and the log has it.
func TestActionThatPanics(t *testing.T) {
	d := newDesk(t)
	d.h.(*handler).options.Workers = func(shardq.Inspector) Resizer { return illCrew{} }
	w := d.press("resize", "workers", "1")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, d.log.String(), "the action panicked")
}

// TestAllowActionsThatPanics checks that the page has no buttons, and that the
// answer to an action and the log say why.
func TestAllowActionsThatPanics(t *testing.T) {
	d := newDesk(t)
	d.h.(*handler).options.AllowActions = func(*http.Request) bool { panic("no session") }
	require.Empty(t, buttons(t, d.h, ""))
	require.Contains(t, get(t, d.h, ""), "This page is read-only.")
	require.Contains(t, d.log.String(), `AllowActions panicked" panic="no session"`)
	d.log.Reset()
	w := d.press("pause")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), "AllowActions panicked")
	require.Contains(t, d.log.String(), "refused an action")
	require.False(t, d.queue.Stats().Paused)
}

// TestNoWorkersToResize checks that the page works without the button if there
// are no workers, or a function of the program panics.
func TestNoWorkersToResize(t *testing.T) {
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
		d := newDesk(t)
		d.h.(*handler).options.Workers = c.workers
		require.Equal(t, []string{"pause"}, buttons(t, d.h, ""), name)
		require.Contains(t, d.log.String(), c.log, name)
		require.Equal(t, c.code, d.press("resize", "workers", "1").Code, name)
		d.done(d.press("pause"), "?queue=invoices")
	}
}
