package items

import (
	"slices"

	"github.com/shardq/shardq/internal/chunked"
)

// Requested has the priorities of the runs to come, and those of delayed items,
// which count when the delay ends.
type Requested struct {
	runs   Column[int]
	delays chunked.Array[int]
}

func (t *Table) NeedRequested() {
	if t.Requested == nil {
		t.Requested = &Requested{}
		t.AddColumn(&t.Requested.runs)
	}
}

func (t *Table) DropRequested() {
	if t.Requested != nil {
		t.columns = slices.DeleteFunc(t.columns, func(c dropper) bool { return c == &t.Requested.runs })
		t.Requested = nil
	}
}

func (r *Requested) Run(id uint32) int {
	if r == nil {
		return 0
	}
	if cell := r.runs.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (r *Requested) SetRun(id uint32, priority int) {
	if cell := r.runs.Lookup(id); cell != nil {
		*cell = priority
	} else if priority != 0 {
		*r.runs.Extend(id) = priority
	}
}

func (r *Requested) Delayed(id uint32) int {
	if cell := r.delays.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (r *Requested) SetDelayed(id uint32, priority int) {
	switch before := r.Delayed(id); {
	case before == 0 && priority != 0:
		*r.delays.Hold(id) = priority
	case before != 0:
		*r.delays.At(id) = priority
		if priority == 0 {
			r.delays.Release(id)
		}
	}
}

// Cells returns the memory that the priorities take.
func (r *Requested) Cells() int { return max(r.runs.Cells(), r.delays.Cells()) }
