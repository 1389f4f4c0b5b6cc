package debugpage

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/shardq/shardq/stats"
)

const (
	maxWorkers = 10_000
	// maxMinutes is the longest pause of a group: a week.
	maxMinutes     = 7 * 24 * 60
	defaultMinutes = 10
	// maxForm limits the bytes of a request for an action.
	maxForm = 1 << 16
)

// A refusal is an error with the status of its answer.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

func refuse(status int, format string, arguments ...any) error {
	return refusal{status, fmt.Sprintf(format, arguments...)}
}

// errReadOnly refuses an action on a queue that the page only reads.
var errReadOnly = refuse(http.StatusBadRequest, "this queue cannot do that")

// A target is what an action changes. It also collects what to log.
type target struct {
	reader
	queue  named
	form   url.Values
	logged []any
}

// actions are the actions by name.
var actions = map[string]func(*target) error{
	"retry":        (*target).retry,
	"cancel":       (*target).cancel,
	"pause":        func(t *target) error { return t.pause(stats.Operator.Pause) },
	"resume":       func(t *target) error { return t.pause(stats.Operator.Resume) },
	"pause-group":  (*target).pauseGroup,
	"resume-group": (*target).resumeGroup,
	"resize":       (*target).resize,
}

// act answers a request for an action: it does it, logs it, and sends the
// browser back to the page. The client may read the page.
func (h *handler) act(w http.ResponseWriter, r *http.Request) {
	t := &target{}
	err := h.perform(t, w, r)
	attributes := append([]any{"action", t.form.Get("action"), "remote", r.RemoteAddr}, t.logged...)
	if err != nil {
		h.logRefusal(append(attributes, "error", err)...)
		status := http.StatusInternalServerError
		if refused := (refusal{}); errors.As(err, &refused) {
			status = refused.status
		}
		http.Error(w, err.Error(), status)
		return
	}
	h.options.Logger.Info("debugpage: did an action", attributes...)
	w.Header().Set("Location", t.back(h.options.asked(r)))
	w.WriteHeader(http.StatusSeeOther)
}

func (h *handler) logRefusal(attributes ...any) {
	h.options.Logger.Warn("debugpage: refused an action", attributes...)
}

// perform checks a request and does its action.
func (h *handler) perform(t *target, w http.ResponseWriter, r *http.Request) (err error) {
	if err := h.refusesActions(r); err != nil {
		return err
	}
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
		return refuse(http.StatusBadRequest, "unknown action %s", showText(t.form.Get("action")).inWords())
	}
	queues := h.directory()
	if t.queue, err = queues.find(t.form.Get("queue")); err != nil {
		return refuse(http.StatusNotFound, "%v", err)
	}
	t.reader = h.reader(1)
	t.log("queue", t.queue.id)
	defer func() {
		if fault := recover(); fault != nil {
			err = refuse(http.StatusInternalServerError, "the action panicked")
		}
	}()
	return do(t)
}

func (t *target) log(name string, value any) { t.logged = append(t.logged, slog.Any(name, value)) }

// asked returns the number of rows that the page of a form has in its address,
// or 0.
func (o Options) asked(r *http.Request) int {
	n, _ := number("rows", r.URL.Query().Get("rows"), o.MaxRows)
	return n
}

// back returns the query of the page that had the form, with its number of rows
// unless that is 0.
func (t *target) back(rows int) string {
	values := url.Values{"queue": {t.queue.id}}
	for _, name := range []string{"item", "group"} {
		if id := t.form.Get(name); id != "" {
			values.Set(name, id)
		}
	}
	if rows > 0 {
		values.Set("rows", strconv.Itoa(rows))
	}
	return "?" + values.Encode()
}

func (t *target) retry() error {
	return t.onItem(func(operator stats.Operator, item any) error {
		if !operator.RetryNow(item) {
			return refuse(http.StatusConflict, "no delay of the item is running")
		}
		return nil
	})
}

func (t *target) cancel() error {
	return t.onItem(func(operator stats.Operator, item any) error {
		if !operator.Cancel(item).Any() {
			return refuse(http.StatusConflict, "there is nothing to cancel: the item is done, or in flight")
		}
		return nil
	})
}

// onItem finds the item of the form by its id, and does something with it.
func (t *target) onItem(do func(stats.Operator, any) error) error {
	list := t.queue.queue.Inspect()
	operator := list.Operator()
	if operator == nil {
		return errReadOnly
	}
	id := t.form.Get("item")
	info, found, complete := byID(list, t.shown, id)
	switch {
	case found:
		t.log("item", t.key(t.queue.name, info.Item).inWords())
		return do(operator, info.Item)
	case !complete:
		return refuse(http.StatusNotFound, "the item is not among the first %s: search for its key, and try again", formatCount(maxVisited))
	}
	return refuse(http.StatusNotFound, "the queue does not hold the item %s", showText(id).inWords())
}

func (t *target) pause(do func(stats.Operator)) error {
	operator := t.queue.queue.Inspect().Operator()
	if operator == nil {
		return errReadOnly
	}
	do(operator)
	return nil
}

func (t *target) pauseGroup() error {
	minutes, err := t.number("minutes", 1, maxMinutes)
	if err != nil {
		return err
	}
	return t.onGroup(func(operator stats.Operator, group string) {
		operator.PauseGroup(group, t.now(t.queue).Add(time.Duration(minutes)*time.Minute))
	})
}

func (t *target) resumeGroup() error {
	return t.onGroup(stats.Operator.ResumeGroup)
}

// onGroup finds the group of the form by its id, and does something with it.
func (t *target) onGroup(do func(stats.Operator, string)) error {
	operator := groupOperator(t.queue)
	if operator == nil {
		return errReadOnly
	}
	id := t.form.Get("group")
	for info := range t.queue.queue.Groups() {
		if groupID(info.Group) == id {
			t.log("group", t.group(t.queue.name, info.Group).inWords())
			do(operator, info.Group)
			return nil
		}
	}
	return refuse(http.StatusNotFound, "no group %s has items", showText(id).inWords())
}

// groupOperator returns the operator of a queue with groups, or nil. The
// methods for groups of another queue panic.
func groupOperator(n named) stats.Operator {
	inspection := n.queue.Inspect()
	if !inspection.Configuration().Groups {
		return nil
	}
	return inspection.Operator()
}

// number returns a number of the form.
func (t *target) number(name string, least, greatest int) (int, error) {
	n, err := strconv.Atoi(t.form.Get(name))
	if err != nil || n < least || n > greatest {
		return 0, refuse(http.StatusBadRequest, "%s is %s: want %d to %d", name, showText(t.form.Get(name)).inWords(), least, greatest)
	}
	t.log(name, n)
	return n, nil
}

// A button is a form with one button. Field is a number that the form asks for,
// if any.
type button struct {
	Token, Queue, Action, Title string
	// Item and Group select what the action changes.
	Item, Group string
	Field       string
	// Value, Least and Greatest are those of the number.
	Value, Least, Greatest int
	// While is "true" or "false" if the button has an effect only while the
	// queue is paused, or is not. Hidden reports that it has none now.
	While  string
	Hidden bool
}

// queueButtons returns the buttons for a queue that is paused or not. The
// script shows and hides them as that changes.
func (h *handler) queueButtons(n named, paused bool) (all []button) {
	if n.queue.Inspect().Operator() != nil {
		all = append(all,
			button{Action: "pause", Title: "Pause the queue", While: "false", Hidden: paused},
			button{Action: "resume", Title: "Resume the queue", While: "true", Hidden: !paused})
	}
	return h.complete(n, append(all, h.resizeButton(n)...))
}

// foundButtons returns the buttons for an item or a group.
func (h *handler) foundButtons(n named, f *foundReport) (all []button) {
	items, groups := n.queue.Inspect().Operator() != nil, groupOperator(n) != nil
	switch c := f.choice; {
	case items && f.isOne():
		one := f.Items[0]
		if one.DueSeconds != nil {
			all = append(all, button{Action: "retry", Title: "Retry now", Item: one.ID})
		}
		all = append(all, button{Action: "cancel", Title: cancelTitle(n), Item: one.ID})
	case groups && c.group != "" && f.Group != nil:
		all = append(all, button{
			Action: "pause-group", Title: "Pause the group", Group: c.group,
			Field: "minutes", Value: defaultMinutes, Least: 1, Greatest: maxMinutes,
		})
		if f.Group.paused() {
			all = append(all, button{Action: "resume-group", Title: "Resume the group", Group: c.group})
		}
	}
	return h.complete(n, all)
}

// cancelTitle says what a cancel does: of a coalescer, it drops a value.
func cancelTitle(n named) string {
	if n.queue.Stats().Values != nil {
		return "Drop the value"
	}
	return "Cancel"
}

func (h *handler) complete(n named, all []button) []button {
	for i := range all {
		all[i].Token, all[i].Queue = h.token, n.id
	}
	return all
}
