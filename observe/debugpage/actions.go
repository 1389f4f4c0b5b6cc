package debugpage

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

const (
	maxWorkers     = 10_000
	maxMinutes     = 7 * 24 * 60 // of the pause of a group
	defaultMinutes = 10
	maxForm        = 1 << 16 // bytes of a request
)

type refusal struct {
	error
	status int
}

func refuse(status int, format string, arguments ...any) error {
	return refusal{fmt.Errorf(format, arguments...), status}
}

type target struct {
	*reader
	request *http.Request
	form    url.Values
	logged  []any
}

// An Action is an action that a request asks for, and its target. Item is nil
// and Group empty unless the target is an item or a group.
type Action struct {
	// Name is "pause", "resume", "resize", "retry", "cancel", "pause-group" or
	// "resume-group".
	Name  string
	Queue shardq.Inspector
	Item  any
	Group string
}

var actions = map[string]func(*target) error{
	"retry": onItem(stats.Operator.RetryNow, "no delay of the item is running"),
	"cancel": onItem(func(queue stats.Operator, item any) bool { return queue.Cancel(item).Any() },
		"there is nothing to cancel: the item is done, or in flight"),
	"pause": func(t *target) error {
		if t.queue.Stats().ShuttingDown {
			return errShutdown
		}
		return t.onQueue(stats.Operator.Pause)
	},
	"resume": func(t *target) error { return t.onQueue(stats.Operator.Resume) },
	"pause-group": func(t *target) error {
		if t.queue.Stats().ShuttingDown {
			return errShutdown
		}
		minutes, err := t.number("minutes", 1, maxMinutes)
		if err != nil {
			return err
		}
		until := t.clock().Add(time.Duration(minutes) * time.Minute)
		return t.onGroup(func(queue stats.Operator, group string) { queue.PauseGroup(group, until) })
	},
	"resume-group": func(t *target) error { return t.onGroup(stats.Operator.ResumeGroup) },
	"resize":       (*target).resize,
}

func (h *handler) act(w http.ResponseWriter, r *http.Request) {
	t := &target{}
	err := h.perform(t, w, r)
	attributes := append([]any{"action", t.form.Get("action"), "remote", r.RemoteAddr}, t.logged...)
	if err != nil {
		h.logRefusal(append(attributes, "error", err)...)
		refused, _ := err.(refusal)
		http.Error(w, err.Error(), cmp.Or(refused.status, http.StatusInternalServerError))
		return
	}
	h.options.Logger.Info("debugpage: did an action", attributes...)
	w.Header().Set("Location", t.back(r))
	w.WriteHeader(http.StatusSeeOther)
}

func (h *handler) logRefusal(attributes ...any) {
	h.options.Logger.Warn("debugpage: refused an action", attributes...)
}

func (h *handler) perform(t *target, w http.ResponseWriter, r *http.Request) (err error) {
	if err := h.crossOrigin.Check(r); err != nil {
		return refuse(http.StatusForbidden, "the request comes from another site: %v", err)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return refuse(http.StatusBadRequest, "the form is malformed: %v", err)
	}
	t.form = r.PostForm
	if subtle.ConstantTimeCompare([]byte(t.form.Get("token")), []byte(h.token)) != 1 {
		return refuse(http.StatusForbidden, "the token is not that of this process: reload the page")
	}
	do, ok := actions[t.form.Get("action")]
	if !ok {
		return refuse(http.StatusBadRequest, "unknown action %s", showItem(t.form.Get("action")).inWords())
	}
	queue, err := h.directory().find(t.form.Get("queue"))
	if err != nil {
		return refuse(http.StatusNotFound, "%v", err)
	}
	t.reader, t.request = h.reader(queue, 1), r
	t.log("queue", queue.id)
	defer func() {
		if recover() != nil {
			err = refuse(http.StatusInternalServerError, "the action panicked")
		}
	}()
	return do(t)
}

func (h *handler) refuses(r *http.Request, action Action) (err error) {
	defer h.caught("AllowActions", func() {
		err = refuse(http.StatusInternalServerError, "debugpage.Options.AllowActions panicked")
	})
	if !h.options.AllowActions(r, action) {
		return refuse(http.StatusForbidden, "the action is denied: see debugpage.Options.AllowActions")
	}
	return nil
}

// refused asks whether the request may do its action to an item or a group.
func (t *target) refused(item any, group string) error {
	return t.refuses(t.request, Action{t.form.Get("action"), t.queue, item, group})
}

// caught is deferred around a function of the options. It logs a panic.
func (h *handler) caught(function string, then func()) {
	if fault := recover(); fault != nil {
		h.options.Logger.Error("debugpage: Options."+function+" panicked", "panic", fmt.Sprint(fault))
		then()
	}
}

func (t *target) log(name string, value any) { t.logged = append(t.logged, slog.Any(name, value)) }

func (t *target) back(r *http.Request) string {
	page := queueReport{ID: t.id}
	page.asked, _ = number("rows", r.URL.Query().Get("rows"), 1, t.handler.options.MaxRows)
	for _, name := range []string{"item", "group"} {
		if id := t.form.Get(name); id != "" {
			return page.to(name, id)
		}
	}
	return page.to("queue", t.id)
}

var (
	errCannot   = refuse(http.StatusBadRequest, "this queue cannot do that")
	errShutdown = refuse(http.StatusConflict, "the queue is shutting down: its end would wait for what the action keeps from workers")
)

func (t *target) onQueue(do func(stats.Operator)) error {
	queue := t.operator()
	if queue == nil {
		return errCannot
	}
	if err := t.refused(nil, ""); err != nil {
		return err
	}
	do(queue)
	return nil
}

func onItem(do func(stats.Operator, any) bool, otherwise string) func(*target) error {
	return func(t *target) error {
		queue := t.operator()
		if queue == nil {
			return errCannot
		}
		id := t.form.Get("item")
		info, found, complete := t.byID(t.queue.Inspect(), id)
		switch {
		case !found && !complete:
			return refuse(http.StatusNotFound, "the item is not among the first %s: search for its key, and try again", formatCount(maxVisited))
		case !found:
			return refuse(http.StatusNotFound, "the queue does not hold the item %s", showItem(id).inWords())
		}
		t.log("item", t.key(info.Item).inWords())
		if err := t.refused(info.Item, ""); err != nil {
			return err
		}
		if !do(queue, info.Item) {
			return refuse(http.StatusConflict, "%s", otherwise)
		}
		return nil
	}
}

func (t *target) onGroup(do func(stats.Operator, string)) error {
	queue := t.groupOperator()
	if queue == nil {
		return errCannot
	}
	id := t.form.Get("group")
	for info := range t.queue.Groups() {
		if groupID(info.Group) == id {
			t.log("group", t.group(info.Group).inWords())
			if err := t.refused(nil, info.Group); err != nil {
				return err
			}
			do(queue, info.Group)
			return nil
		}
	}
	return refuse(http.StatusNotFound, "no group %s has items", showItem(id).inWords())
}

func (t *target) resize() error {
	n, err := t.number("workers", 0, maxWorkers)
	if err != nil {
		return err
	}
	workers := t.handler.options.resizer(t.queue)
	if workers == nil {
		return refuse(http.StatusBadRequest, "this queue has no workers that can be resized: see debugpage.Options.Workers")
	}
	if n == 0 && t.queue.Stats().ShuttingDown {
		return errShutdown
	}
	if err := t.refused(nil, ""); err != nil {
		return err
	}
	workers.Resize(n)
	return nil
}

func (t *target) number(name string, least, greatest int) (int, error) {
	n, err := number(name, t.form.Get(name), least, greatest)
	if err != nil {
		return 0, refuse(http.StatusBadRequest, "%v", err)
	}
	t.log(name, n)
	return n, nil
}

// A button is a form with one button, and a Field for a number, if any. Confirm
// is what to read before a second click, if any, and Dismiss takes the first
// one back. A Hidden one has no effect now: the script shows it when it has.
type button struct {
	Token, Queue, Action, Title, Item, Group string
	Field, Confirm, Dismiss                  string
	Value, Least, Greatest                   int
	Hidden                                   bool
}

// buttons returns the actions that have an effect, and that the request may do.
func (h *handler) buttons(r *http.Request, n named, q queueReport) (all []button) {
	if h.options.AllowActions == nil {
		return nil
	}
	var item any
	group := ""
	add := func(is bool, b button) {
		if b.Token, b.Queue = h.token, n.id; is && h.refuses(r, Action{b.Action, n.queue, item, group}) == nil {
			all = append(all, b)
		}
	}
	switch f := q.Found; {
	case f == nil:
		paused := q.Gauges["paused"] == true
		add(n.operator() != nil && q.State == running, button{
			Action: "pause", Title: "Pause the queue", Hidden: paused,
			Confirm: "No worker gets an item until somebody resumes the queue.", Dismiss: "Cancel",
		})
		add(n.operator() != nil, button{Action: "resume", Title: "Resume the queue", Hidden: !paused})
		workers, ok := h.workers(n)
		add(ok, button{Action: "resize", Title: "Resize", Field: "workers", Value: workers, Greatest: maxWorkers})
	case f.isOne() && n.operator() != nil:
		id := f.Items[0]["id"].(string)
		item = f.infos[0].Item
		add(true, button{Action: "retry", Title: "Retry now", Item: id, Hidden: f.Items[0]["dueSeconds"] == nil})
		cancel := button{Action: "cancel", Title: "Cancel the item", Item: id, Confirm: "The item does not run unless it is added again.", Dismiss: "Keep it"}
		if q.Values != nil {
			cancel.Title, cancel.Confirm = "Drop the value", "The pending value is lost."
		}
		add(true, cancel)
	case f.Group != nil && n.groupOperator() != nil:
		group = f.group
		add(q.State == running, button{
			Action: "pause-group", Title: "Pause the group", Group: f.choice.text,
			Field: "minutes", Value: defaultMinutes, Least: 1, Greatest: maxMinutes,
		})
		paused := f.Group["throttledBy"] == stats.ThrottledByPause.String()
		add(paused, button{Action: "resume-group", Title: "Resume the group", Group: f.choice.text})
	}
	return all
}

// A Resizer has a number of workers that can change. A [worker.Pool] is one.
type Resizer interface {
	Len() int // the number of workers
	Resize(n int)
}

func (o Options) resizer(queue shardq.Inspector) Resizer {
	if o.Workers == nil {
		return nil
	}
	workers := o.Workers(queue)
	// A map of pools has a nil pointer for a queue without a pool.
	if v := reflect.ValueOf(workers); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return workers
}

func (h *handler) workers(n named) (number int, ok bool) {
	defer h.caught("Workers", func() { ok = false })
	if workers := h.options.resizer(n.queue); workers != nil {
		return workers.Len(), true
	}
	return 0, false
}
