// Package registry keeps named queues that are read repeatedly, and removes
// those that are closed.
package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/stats"
)

// A Registry maps names to queues, safe for concurrent use. It holds no lock
// while it reads a queue, which calls its clock and its limiter.
type Registry struct {
	Exporter string // begins the errors, if set

	mu      sync.Mutex
	rows    map[string]*Row
	sweepAt int // the number of rows at which Add next sweeps all of them
}

// A Row is a queue in a Registry. Add sets the fields below Queue.
type Row struct {
	Name          string
	Queue         shardq.Inspector
	Configuration stats.Configuration
	Since         time.Time // when the queue began to count, or was added

	failures uint64 // guarded by the registry's mutex
}

const fewRows = 16 // up to which Add does not sweep all of them

// RowsOf returns a row for each queue, with its own name.
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
// Each queue must keep metrics, and have a unique name of valid UTF-8. The name
// of a closed queue may be used again.
func (r *Registry) Add(rows ...*Row) error {
	var faults []error
	for _, row := range rows {
		faults = append(faults, row.complete())
	}
	err := errors.Join(faults...)
	if err == nil {
		r.sweep(rows)
		err = r.insert(rows)
	}
	if err != nil && r.Exporter != "" {
		return fmt.Errorf("%s: %w", r.Exporter, err)
	}
	return err
}

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

// sweep removes closed queues that have one of the wanted names, and from time
// to time all, because nothing may call Read.
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
	return slices.Collect(maps.Values(r.rows))
}

// A Reading is the state of a queue at one time.
type Reading struct {
	*Row
	Stats    shardq.Stats
	Read     bool   // false if the queue panicked: Stats is then incomplete
	Failures uint64 // the reads in which the queue panicked
}

// Read reads each queue once, in no particular order. It removes closed queues
// and does not return them.
func (r *Registry) Read() []Reading {
	rows := r.list()
	readings := make([]Reading, 0, len(rows))
	for _, row := range rows {
		if reading, open := r.read(row); open {
			readings = append(readings, reading)
		}
	}
	return readings
}

func (r *Registry) read(row *Row) (reading Reading, open bool) {
	reading.Row = row
	reading.Stats, reading.Read = row.stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reading.Read {
		row.failures++
	}
	reading.Failures = row.failures
	if reading.Read && closed(&reading.Stats) {
		if r.rows[row.Name] == row { // another queue may have its name by now
			delete(r.rows, row.Name)
		}
		return reading, false
	}
	return reading, true
}

func (row *Row) stats() (stats shardq.Stats, ok bool) {
	defer func() { _ = recover() }()
	stats = row.Queue.Stats()
	return stats, stats.Metrics != nil
}

// closed is final, because no shard accepts an item after a shutdown has begun.
func closed(s *shardq.Stats) bool {
	return s.ShuttingDown && s.Ready == 0 && s.Processing == 0 && s.Delayed == 0
}

// Others is the name of the sum of all groups that are not among the first.
const Others = "other"

const nameBytes = 128 // of a group

// A Part is the key of a number: that of a group's items in the state Of, or of its
// attempts with the result Of.
type Part struct{ Group, Of string }

// Groups returns the items by state of at most limit groups, those that hold
// the most, and the sum of the others as [Others]. Groups whose shortened names
// are equal are added up. If the queue has no groups, or panics, Groups returns
// nil.
func (r *Reading) Groups(limit int) map[Part]int {
	if !r.Configuration.Groups {
		return nil
	}
	defer func() { _ = recover() }()
	most := topk.New(limit, func(a, b stats.Group) int {
		return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(a.Group, b.Group))
	})
	rest := stats.Group{Group: Others}
	for g := range r.Queue.Groups() {
		if out, dropped := most.Add(g); dropped {
			rest.Held += out.Held
			rest.Ready += out.Ready
			rest.Processing += out.Processing
		}
	}
	parts := map[Part]int{}
	for _, g := range append(most.Values(), rest) {
		name := shownName(g.Group)
		parts[Part{name, "ready"}] += g.Ready
		parts[Part{name, "processing"}] += g.Processing
		parts[Part{name, "delayed"}] += g.Held - g.Ready - g.Processing
	}
	return parts
}

// shownName makes a name valid UTF-8 and shortens it twice, because an invalid
// byte becomes three bytes.
func shownName(group string) string {
	valid := strings.ToValidUTF8(keytext.Cut(group, nameBytes), string(utf8.RuneError))
	return keytext.Cut(valid, nameBytes)
}

// Sources returns the sources with the most events that are not done, at most 100.
func (r *Reading) Sources() []stats.Source {
	if r.Stats.Values == nil {
		return nil
	}
	most := topk.New(100, func(a, b stats.Source) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.Name, b.Name))
	})
	seen := map[string]bool{}
	for _, s := range r.Stats.Values.Sources {
		if s.Name = shownName(s.Name); !seen[s.Name] {
			seen[s.Name] = true
			most.Add(s)
		}
	}
	return most.Values()
}

// GroupAttempts returns the attempts by result, if any, at items of at most
// limit groups, those with the most attempts. Unlike [Reading.Groups], it does
// not add up the others: their sum would fall when one of them comes among the
// first, and a counter must not. If the queue has no groups, or panics,
// GroupAttempts returns nil.
func (r *Reading) GroupAttempts(limit int) map[Part]uint64 {
	if !r.Configuration.Groups {
		return nil
	}
	defer func() { _ = recover() }()
	parts := map[Part]uint64{}
	for _, g := range r.Queue.Inspect().GroupAttempts(limit) {
		for result, n := range g.Counts {
			if n > 0 {
				parts[Part{shownName(g.Group), stats.Result(result).String()}] += n
			}
		}
	}
	return parts
}
