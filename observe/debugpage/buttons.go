package debugpage

import (
	"reflect"

	"github.com/shardq/shardq"
)

// A button is a form with one button. Item or Group selects what the action
// changes. Field is a number that the form asks for, if any, with its Value.
// While is "true" or "false" if the button has an effect only while the queue
// is paused, or is not, and Hidden reports that it has none now.
type button struct {
	Token, Queue, Action, Title, Item, Group string
	Field, While                             string
	Value, Least, Greatest                   int
	Hidden                                   bool
}

// buttons returns the buttons of the page of a queue, an item or a group: what
// the queue can do.
func (h *handler) buttons(n named, q queueReport) (all []button) {
	add := func(is bool, b button) {
		if b.Token, b.Queue = h.token, n.id; is {
			all = append(all, b)
		}
	}
	switch f := q.Found; {
	case f == nil:
		paused := q.Gauges["paused"] == true
		add(can[pauser](n), button{Action: "pause", Title: "Pause the queue", While: "false", Hidden: paused})
		add(can[pauser](n), button{Action: "resume", Title: "Resume the queue", While: "true", Hidden: !paused})
		workers, ok := h.workers(n)
		add(ok, button{Action: "resize", Title: "Resize", Field: "workers", Value: workers, Greatest: maxWorkers})
	case f.isOne() && can[operated](n):
		id := f.Items[0]["id"].(string)
		add(f.Items[0]["dueSeconds"] != nil, button{Action: "retry", Title: "Retry now", Item: id})
		// The cancel of a coalescer drops a value.
		add(true, button{Action: "cancel", Title: orNone(q.Values != nil, "Drop the value", "Cancel"), Item: id})
	case f.Group != nil && can[groupPauser](n):
		add(true, button{
			Action: "pause-group", Title: "Pause the group", Group: f.choice.text,
			Field: "minutes", Value: defaultMinutes, Least: 1, Greatest: maxMinutes,
		})
		add(isPaused(f.Group), button{Action: "resume-group", Title: "Resume the group", Group: f.choice.text})
	}
	return all
}

// A Resizer has a number of workers that can change. A [worker.Pool] is one.
type Resizer interface {
	// Len returns the number of workers.
	Len() int
	// Resize changes it to n.
	Resize(n int)
}

// resizer returns the workers of a queue, or nil. It panics if Workers does.
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

// workers returns the number of workers that can be resized. There are none if
// a function of the program panics.
func (h *handler) workers(n named) (number int, ok bool) {
	defer h.caught("Workers", func() { ok = false })
	if workers := h.options.resizer(n.queue); workers != nil {
		return workers.Len(), true
	}
	return 0, false
}
