// Package report collects what a run has found, and counts what it has done.
package report

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Violations collects the first broken promises. It is safe for concurrent use.
type Violations struct {
	any   atomic.Bool
	mu    sync.Mutex // guards found
	found []error
}

func (v *Violations) Add(format string, arguments ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.found) < 8 { // later ones follow from these, as a rule
		v.found = append(v.found, fmt.Errorf(format, arguments...))
	}
	v.any.Store(true)
}

func (v *Violations) If(broken bool, format string, arguments ...any) {
	if broken {
		v.Add(format, arguments...)
	}
}

func (v *Violations) Any() bool { return v.any.Load() }

func (v *Violations) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return errors.Join(v.found...)
}

type Counts struct{ Rounds, Adds, HandOuts uint64 }

func (c *Counts) Plus(d Counts) {
	*c = Counts{c.Rounds + d.Rounds, c.Adds + d.Adds, c.HandOuts + d.HandOuts}
}

// String returns the last line of a run.
func (c Counts) String() string {
	return fmt.Sprintf("%d rounds, %d adds, %d hand-outs", c.Rounds, c.Adds, c.HandOuts)
}
