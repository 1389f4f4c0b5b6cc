package debugpage

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

const (
	// DefaultMaxRows is [Options].MaxRows where that is zero.
	DefaultMaxRows = 25
	// DefaultPollEvery is [Options].PollEvery where that is zero.
	DefaultPollEvery = 2 * time.Second

	defaultTitle = "Work queues"
	// maxMaxRows bounds what a table can be asked for.
	maxMaxRows = 10_000
	// minPollEvery keeps a slip of the pen, such as 2 for two seconds, from being costly.
	minPollEvery = 10 * time.Millisecond
)

// Options configure a page. The functions in it are called in the goroutine of the request, with
// no lock held, and must be safe for concurrent use. They may be slow: then the answer is.
type Options struct {
	// Queues are the queues to show, in this order. A [shardq.Coalescer] has its
	// Coalescer.Queue to show.
	Queues []shardq.Observable

	// List returns further queues to show, for a program whose queues come and go. It is
	// called once in each request that is allowed. Of several queues of one name all but the first have a
	// number, which a queue keeps for as long as it is in each list, whatever its place (if it can be compared, as
	// queues can). It should return the same values
	// for the same queues each time: one that differs is another queue to the page, and its graphs begin anew.
	// Default: none.
	List func() []shardq.Observable

	// Title is the heading of the page. Default: "Work queues".
	Title string

	// MaxRows is how many rows each table has at most. A request may ask for fewer with
	// ?rows=. Default: [DefaultMaxRows].
	MaxRows int

	// PollEvery is how often a page that is open, and in sight, asks for news. Default:
	// [DefaultPollEvery].
	PollEvery time.Duration

	// RedactKey returns what to show in place of an item, which is a T of the queue that
	// has the name. If it panics, the page says so in place of the item. What it returns
	// is escaped and cut as a key is. Default: the item itself, see docs/guide/debugpage.md.
	RedactKey func(queue string, item any) string

	// RedactGroup likewise returns what to show in place of the name of a group.
	RedactGroup func(queue, group string) string

	// Allow says who may look. It replaces the default, which is [Local]; a page that is
	// behind an authentication already returns true:
	//
	//	Allow: func(r *http.Request) bool { return debugpage.Local(r) || isOperator(r) }
	//
	// Whoever is refused gets a 403. If Allow panics, nothing is shown.
	Allow func(*http.Request) bool
}

// withDefaults returns the options with every zero field replaced.
func (o Options) withDefaults() Options {
	o.Queues = slices.Clone(o.Queues)
	if o.List == nil {
		o.List = func() []shardq.Observable { return nil }
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
	if o.Allow == nil {
		o.Allow = Local
	}
	return o
}

// validate returns one error that names every fault, or nil.
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
