package items

import (
	"slices"

	"github.com/shardq/shardq/internal/chunked"
)

// Requested has the priorities of the runs to come, and those of delayed items,
// which count when the delay ends.
type Requested struct {
	runs   chunked.Array[int]
	delays chunked.Array[int]
}

func (t *Table) NeedRequested() {
	if t.Requested == nil {
		t.Requested = &Requested{}
		AddColumn(t, &t.Requested.runs)
	}
}

func (t *Table) DropRequested() {
	if t.Requested != nil {
		t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return c.cells == &t.Requested.runs })
		t.Requested = nil
	}
}

func (r *Requested) Run(id uint32) int {
	if r == nil {
		return 0
	}
	if cell := chunked.Lookup(&r.runs, id); cell != nil {
		return *cell
	}
	return 0
}

func (r *Requested) SetRun(id uint32, priority int) {
	if cell := chunked.Lookup(&r.runs, id); cell != nil {
		*cell = priority
	} else if priority != 0 {
		*chunked.Extend(&r.runs, id) = priority
	}
}

func (r *Requested) Delayed(id uint32) int {
	if cell := chunked.Lookup(&r.delays, id); cell != nil {
		return *cell
	}
	return 0
}

func (r *Requested) SetDelayed(id uint32, priority int) {
	switch before := r.Delayed(id); {
	case before == 0 && priority != 0:
		*chunked.Hold(&r.delays, id) = priority
	case before != 0:
		*chunked.At(&r.delays, id) = priority
		if priority == 0 {
			chunked.Release(&r.delays, id)
		}
	}
}

func (r *Requested) Cells() int { return max(chunked.Size(&r.runs), chunked.Size(&r.delays)) }
