// Package registry keeps named queues that are read repeatedly, and removes
// those that are closed.
package registry

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A Registry maps names to queues. It must not be copied. All methods are safe
// for concurrent use. It holds no lock while it reads a queue, because a queue
// calls its clock and its limiter, which may be user code.
//
// The zero Registry is empty.
type Registry struct {
	mu   sync.Mutex
	rows map[string]*Row
	// sweepAt is the number of rows at which Add next searches all of them for
	// closed queues.
	sweepAt int
}

// A Row is a queue in a Registry. Add sets the fields below Queue.
type Row struct {
	Name          string
	Queue         shardq.Inspector
	Configuration stats.Configuration
	// Since is when the queue began to count: when it was made, or added if its
	// configuration does not say.
	Since time.Time

	failures uint64 // guarded by the registry's mutex
}

// fewRows is the number of rows up to which Add does not search all of them for
// closed queues.
const fewRows = 16

// RowsOf returns a row for each queue, with the queue's own name. The row of a
// nil queue has no name.
func RowsOf(queues []shardq.Inspector) []*Row {
	rows := make([]*Row, len(queues))
	for i, queue := range queues {
		rows[i] = &Row{Queue: queue}
		if queue != nil {
			rows[i].Name = queue.Name()
		}
	}
	return rows
}

// Add adds all rows, or returns an error that names every fault and adds none.
// The queue of a row must keep metrics. Its name must be valid UTF-8, not empty
// and unique. The name of a closed queue may be used again.
func (r *Registry) Add(rows ...*Row) error {
	var faults []error
	for _, row := range rows {
		faults = append(faults, row.complete())
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.sweep(rows)
	return r.insert(rows)
}

// complete reads the configuration of the queue and validates the row.
func (row *Row) complete() error {
	switch {
	case row.Queue == nil:
		return errors.New("a queue is nil")
	case row.Name == "":
		return errors.New("a queue has no name: set Options.Name, or add it with a name")
	case !utf8.ValidString(row.Name):
		return fmt.Errorf("the name %q of a queue is not valid UTF-8", row.Name)
	}
	row.Configuration = row.Queue.Inspect().Configuration()
	if row.Since = row.Configuration.Created; row.Since.IsZero() {
		row.Since = time.Now() // an Inspector that is not a queue
	}
	if !row.Configuration.Metrics {
		return fmt.Errorf("queue %q keeps no metrics: set Options.Metrics", row.Name)
	}
	return nil
}

// sweep removes closed queues that have one of the wanted names. From time to
// time it removes all closed queues, so that they do not accumulate if nothing
// calls Read.
func (r *Registry) sweep(wanted []*Row) {
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

// insert inserts the rows, or none if a name is taken.
func (r *Registry) insert(rows []*Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var faults []error
	inserted := make(map[string]bool, len(rows))
	for _, row := range rows {
		if r.rows[row.Name] != nil || inserted[row.Name] {
			faults = append(faults, fmt.Errorf("the name %q is taken by another queue: names must differ", row.Name))
		}
		inserted[row.Name] = true
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

// Remove removes the queue of that name, and reports whether there was one.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.rows[name]
	delete(r.rows, name)
	return ok
}

func (r *Registry) list() []*Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]*Row, 0, len(r.rows))
	for _, row := range r.rows {
		rows = append(rows, row)
	}
	return rows
}
