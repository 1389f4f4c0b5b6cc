// Package report collects what a run has found: the broken promises, and the
// counts of its last line.
package report

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// most is the number of violations that are kept. Those after it follow from
// the first, as a rule.
const most = 8

// Violations collects broken promises. All methods are safe for concurrent use.
type Violations struct {
	any atomic.Bool

	mu    sync.Mutex // guards found
	found []string
}

// Add records a broken promise.
func (v *Violations) Add(format string, arguments ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.found) < most {
		v.found = append(v.found, fmt.Sprintf(format, arguments...))
	}
	v.any.Store(true)
}

// Any reports whether there are violations.
func (v *Violations) Any() bool { return v.any.Load() }

// Err returns the violations as an error, or nil.
func (v *Violations) Err() error {
	if !v.Any() {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return fmt.Errorf("%s", strings.Join(v.found, "\n"))
}

// Counts has the counts of a round, or of all rounds.
type Counts struct {
	// Rounds are those of queues and of coalescers.
	Rounds, Adds, HandOuts, Checks uint64
}

// Plus adds the counts of a round.
func (c *Counts) Plus(d Counts) {
	c.Rounds += d.Rounds
	c.Adds += d.Adds
	c.HandOuts += d.HandOuts
	c.Checks += d.Checks
}

// String returns the last line of a run.
func (c Counts) String() string {
	return fmt.Sprintf("%d rounds, %d adds, %d hand-outs, %d checks", c.Rounds, c.Adds, c.HandOuts, c.Checks)
}
