// Package roster keeps the queues that somebody looks at again and again, by their names, and lets
// go of those that are closed.
package roster

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/shardq/shardq"
)

// A Roster has queues by their names. The zero Roster is empty. All methods are safe for concurrent
// use; a Roster must not be copied. No lock is held while a queue is asked: a queue calls its clock
// and its limiter, which may be anybody's code.
type Roster struct {
	mu   sync.Mutex
	rows map[string]*Row
	// sweepAt is how many rows there are when Add next looks for closed queues.
	sweepAt int
}

// A Row is a queue in a Roster.
type Row struct {
	// Name tells the queue from all others of the Roster.
	Name string
	// Queue is the queue.
	Queue shardq.Observable
	// Configuration is the queue's.
	Configuration shardq.Configuration
	// Since is when the queue began to count: when it was made, or, if it does not say
	// so, when it was added.
	Since time.Time

	failures uint64 // under the roster's lock
}

// fewRows is how many rows there are before Add begins to look for closed queues.
const fewRows = 16

// NamesOf returns a row for each of the queues, with the name that the queue has itself. A nil
// queue has none.
func NamesOf(queues []shardq.Observable) []*Row {
	rows := make([]*Row, len(queues))
	for i, queue := range queues {
		rows[i] = &Row{Queue: queue}
		if queue != nil {
			rows[i].Name = queue.Name()
		}
	}
	return rows
}

// Add takes rows in: all of them, or none and returns an error that names every fault. A row must
// have a queue that keeps metrics, and a name that no other has, of valid UTF-8, not empty. The
// name of a queue that is closed is free.
func (r *Roster) Add(rows ...*Row) error {
	var faults []error
	for _, row := range rows {
		faults = append(faults, row.complete())
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.sweep(rows)
	return r.enter(rows)
}

// complete reads the configuration, and says what is wrong with the row by itself.
func (row *Row) complete() error {
	switch {
	case row.Queue == nil:
		return errors.New("a queue is nil")
	case row.Name == "":
		return errors.New("a queue has no name: set Options.Name, or add it with a name")
	case !utf8.ValidString(row.Name):
		return fmt.Errorf("the name %q of a queue is not valid UTF-8", row.Name)
	}
	row.Configuration = row.Queue.Configuration()
	if row.Since = row.Configuration.Created; row.Since.IsZero() {
		row.Since = time.Now() // of somebody's own Observable
	}
	if !row.Configuration.Metrics {
		return fmt.Errorf("queue %q keeps no metrics: set Options.Metrics", row.Name)
	}
	return nil
}

// sweep lets go of closed queues: of those whose names are wanted, and now and then of all, so that
// they go also where nobody reads.
func (r *Roster) sweep(wanted []*Row) {
	r.mu.Lock()
	var suspects []*Row
	for _, row := range wanted {
		if holder := r.rows[row.Name]; holder != nil {
			suspects = append(suspects, holder)
		}
	}
	all := len(r.rows)+len(wanted) > max(r.sweepAt, fewRows)
	r.mu.Unlock()
	if all {
		suspects = r.list()
	}
	for _, row := range suspects {
		r.read(row)
	}
	if all {
		r.mu.Lock()
		r.sweepAt = 2 * (len(r.rows) + len(wanted))
		r.mu.Unlock()
	}
}

// enter enters the rows, unless a name is taken.
func (r *Roster) enter(rows []*Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []error
	entered := make(map[string]bool, len(rows))
	for _, row := range rows {
		if r.rows[row.Name] != nil || entered[row.Name] {
			faults = append(faults, fmt.Errorf("the name %q is taken by another queue: names must differ", row.Name))
		}
		entered[row.Name] = true
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if r.rows == nil {
		r.rows = make(map[string]*Row)
	}
	for _, row := range rows {
		r.rows[row.Name] = row
	}
	return nil
}

// Remove takes the queue of a name out, and reports whether there was one.
func (r *Roster) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.rows[name]
	delete(r.rows, name)
	return ok
}

func (r *Roster) list() []*Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]*Row, 0, len(r.rows))
	for _, row := range r.rows {
		rows = append(rows, row)
	}
	return rows
}
