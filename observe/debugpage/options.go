package debugpage

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

const (
	maxMaxRows = 10_000
	// minPollEvery rejects a costly mistake, such as 2 for two seconds.
	minPollEvery = 10 * time.Millisecond
)

// Options configure a page. The handler calls their functions in the goroutine
// of the request, with no lock held. They must be safe for concurrent use.
type Options struct {
	// Queues are the queues to show, in this order, also [coalesce.Coalescer]s.
	Queues []shardq.Inspector

	// List returns further queues to show, once in each request, for a program
	// that creates and closes queues. The same queue must be the same value
	// each time.
	List func() []shardq.Inspector

	// Title is the heading of the page. Defaults to "Work queues".
	Title string
	// MaxRows limits the rows of each table. A request may ask for fewer with
	// ?rows=. Defaults to 25.
	MaxRows int
	// PollEvery is the interval at which an open and visible page polls.
	// Defaults to two seconds.
	PollEvery time.Duration
	// RedactKey returns the text to show in place of an item. If nil, the page
	// shows the item itself: see docs/guide/debugpage.md.
	RedactKey func(queue string, item any) string
	// RedactGroup returns the text to show in place of the name of a group.
	RedactGroup func(queue, group string) string

	// RedactError returns the text to show in place of the text of an error, of
	// which the queue keeps 512 bytes. A text that was cut lacks its last word,
	// which may be the beginning of a secret.
	//
	// If nil, the page shows the text itself, or hides all texts if RedactKey
	// or RedactGroup is set, because a text may name the key.
	RedactError func(queue, text string) string

	// Allow reports whether a request may be answered. Defaults to [Local]. A
	// page behind an authentication can return true:
	//
	//	Allow: func(r *http.Request) bool { return debugpage.Local(r) || isOperator(r) }
	Allow func(*http.Request) bool

	// AllowActions reports whether a request may do an action to its target, such
	// as pause a queue, or cancel one item. The handler asks it after Allow, and
	// the page only offers what it allows. A Coalescer.Queue is read-only. If nil,
	// there are no actions.
	AllowActions func(*http.Request, Action) bool

	// Workers returns the workers of a queue of Queues or List, for the action
	// that resizes them, or nil if they cannot be resized. Queues compare with ==:
	//
	//	pools := map[shardq.Inspector]debugpage.Resizer{invoices: first, clicks: second}
	//	Workers: func(queue shardq.Inspector) debugpage.Resizer { return pools[queue] }
	Workers func(queue shardq.Inspector) Resizer

	// Logger logs each action, and each that was refused, with the address of
	// its client. Defaults to [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Queues = slices.Clone(o.Queues)
	if o.List == nil {
		o.List = func() []shardq.Inspector { return nil }
	}
	o.Title = cmp.Or(o.Title, "Work queues")
	o.MaxRows = cmp.Or(o.MaxRows, 25)
	o.PollEvery = cmp.Or(o.PollEvery, 2*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Allow == nil {
		o.Allow = Local
	}
	return o
}

func (o Options) validate() error {
	var faults []error
	for i, queue := range o.Queues {
		if queue == nil {
			faults = append(faults, fmt.Errorf("debugpage: Options.Queues[%d] is nil: want a queue", i))
		}
	}
	if o.MaxRows < 0 || o.MaxRows > maxMaxRows {
		faults = append(faults, fmt.Errorf("debugpage: Options.MaxRows is %d: want 0 (the default) to %d", o.MaxRows, maxMaxRows))
	}
	if o.PollEvery < 0 || o.PollEvery > 0 && o.PollEvery < minPollEvery {
		faults = append(faults, fmt.Errorf("debugpage: Options.PollEvery is %v: want 0 (the default), or %v or more", o.PollEvery, minPollEvery))
	}
	return errors.Join(faults...)
}
