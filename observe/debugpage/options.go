package debugpage

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

const (
	// DefaultMaxRows is the value of [Options].MaxRows if that is zero.
	DefaultMaxRows = 25
	// DefaultPollEvery is the value of [Options].PollEvery if that is zero.
	DefaultPollEvery = 2 * time.Second

	defaultTitle = "Work queues"
	// maxMaxRows limits the rows that a request can ask for.
	maxMaxRows = 10_000
	// minPollEvery rejects a mistake such as 2 for two seconds, which would be
	// costly.
	minPollEvery = 10 * time.Millisecond
)

// Options configure a page. The handler calls the functions of the options in
// the goroutine of the request, with no lock held. They must be safe for
// concurrent use. A slow function delays the answer.
type Options struct {
	// Queues are the queues and coalescers to show, in this order.
	Queues []shardq.Inspector

	// List returns further queues to show, for a program that creates and
	// closes queues while it runs. The handler calls it once in each request
	// that is allowed.
	//
	// Queues that share a name are numbered, except the first. A queue of a
	// comparable type keeps its number as long as every list contains it, at
	// any position. List must return the same values for the same queues each
	// time. A different value is a different queue to the page, whose graphs
	// start again.
	//
	// If nil, there are no further queues.
	List func() []shardq.Inspector

	// Title is the heading of the page.
	//
	// Defaults to "Work queues".
	Title string

	// MaxRows limits the rows of each table. A request may ask for fewer with
	// ?rows=.
	//
	// Defaults to [DefaultMaxRows].
	MaxRows int

	// PollEvery is the interval at which an open and visible page polls.
	//
	// Defaults to [DefaultPollEvery].
	PollEvery time.Duration

	// RedactKey returns the text to show in place of an item. The item is a T
	// of the queue with the name. In a search, the queue may not hold it. The
	// text is escaped and cut in the same way as a key. If RedactKey panics,
	// the page says so in place of the item.
	//
	// If nil, the page shows the item itself: see docs/guide/debugpage.md.
	RedactKey func(queue string, item any) string

	// RedactGroup returns the text to show in place of the name of a group, as
	// RedactKey does for items.
	RedactGroup func(queue, group string) string

	// RedactError returns the text to show in place of the text of an error, of
	// the failures that the queue keeps. The text is escaped and cut in the
	// same way as a key. If RedactError panics, the page says so in place of
	// the text.
	//
	// The queue keeps the first 512 bytes of a text. The last word of a text
	// that it has cut may be the beginning of a secret. So RedactError gets
	// such a text without its last word: up to the last white space, followed
	// by an ellipsis. A secret that has white space may still be cut. A pattern
	// for it must also match its beginning.
	//
	// If nil, the page shows the text itself, or hides all texts if RedactKey
	// or RedactGroup is set, because a text may name the key.
	RedactError func(queue, text string) string

	// Allow reports whether a request may be answered. A page behind an
	// authentication can return true:
	//
	//	Allow: func(r *http.Request) bool { return debugpage.Local(r) || isOperator(r) }
	//
	// If Allow returns false, the handler answers with a 403. If it panics, the
	// handler shows nothing.
	//
	// Defaults to [Local].
	Allow func(*http.Request) bool

	// AllowActions reports whether a request may change a queue: retry or
	// cancel an item, pause a queue or a group, and resize workers. The handler
	// asks it after Allow, for each action, and for each page to know whether
	// to show the buttons. Coalescer.Queue is read-only. Every action is
	// logged.
	//
	// An action is a POST from a page of this handler, on the same origin. If
	// AllowActions returns false, the handler answers with a 403. If it panics,
	// the handler refuses the action with a 500, shows no buttons, and logs the
	// panic.
	//
	// If nil, there are no actions.
	AllowActions func(*http.Request) bool

	// Workers returns the workers of a queue, for the action that resizes them,
	// or nil if they cannot be resized. It gets the queue as Queues or List has
	// it. Queues compare with ==:
	//
	//	pools := map[shardq.Inspector]debugpage.Resizer{invoices: first, clicks: second}
	//	Workers: func(queue shardq.Inspector) debugpage.Resizer { return pools[queue] }
	//
	// A nil pointer counts as nil. If Workers panics, the page has no button to
	// resize them, and the handler logs the panic.
	//
	// If nil, no workers can be resized.
	Workers func(queue shardq.Inspector) Resizer

	// Logger logs each action, and each that was refused, with the address of
	// its client.
	//
	// Defaults to [slog.Default].
	Logger *slog.Logger
}

// withDefaults returns the options with defaults in place of zero fields.
func (o Options) withDefaults() Options {
	o.Queues = slices.Clone(o.Queues)
	if o.List == nil {
		o.List = func() []shardq.Inspector { return nil }
	}
	if o.Title == "" {
		o.Title = defaultTitle
	}
	if o.MaxRows == 0 {
		o.MaxRows = DefaultMaxRows
	}
	if o.PollEvery == 0 {
		o.PollEvery = DefaultPollEvery
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Allow == nil {
		o.Allow = Local
	}
	return o
}

// validate returns one error that lists every fault, or nil.
func (o Options) validate() error {
	var faults []error
	fault := func(format string, arguments ...any) {
		faults = append(faults, fmt.Errorf("debugpage: "+format, arguments...))
	}
	for i, queue := range o.Queues {
		if queue == nil {
			fault("Options.Queues[%d] is nil: want a queue", i)
		}
	}
	if o.MaxRows < 0 || o.MaxRows > maxMaxRows {
		fault("Options.MaxRows is %d: want 0 (the default) to %d", o.MaxRows, maxMaxRows)
	}
	if o.PollEvery < 0 || o.PollEvery > 0 && o.PollEvery < minPollEvery {
		fault("Options.PollEvery is %v: want 0 (the default), or %v or more", o.PollEvery, minPollEvery)
	}
	return errors.Join(faults...)
}
