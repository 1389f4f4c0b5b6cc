package shard

import "github.com/shardq/shardq/internal/chunked"

// What priority an item is to have is a wish of those who add it: the greatest counts, and
// is granted by the run that serves them. Wishes are kept in columns of their own, by entry,
// that have memory where a wish is not 0.
type wishes struct {
	// runs has the priorities of the runs to come.
	runs cells[int]
	// waits has those with which items wait.
	waits chunked.Array[int]
}

// needWishes makes sure that a table has wishes.
func (t *table[T]) needWishes() {
	if t.wishes == nil {
		t.wishes = &wishes{}
		t.hang(&t.wishes.runs)
	}
}

// dropWishes forgets the wishes of a table that holds nothing.
func (t *table[T]) dropWishes() {
	if t.wishes != nil {
		t.unhang(&t.wishes.runs)
		t.wishes = nil
	}
}

// run returns the priority of the run to come, of an entry that is ready or dirty. Of
// others it says nothing.
func (w *wishes) run(id uint32) int {
	if cell := w.runs.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (w *wishes) setRun(id uint32, priority int) {
	if cell := w.runs.Lookup(id); cell != nil {
		*cell = priority
	} else if priority != 0 {
		*w.runs.Extend(id) = priority
	}
}

// wait returns the priority with which an entry waits.
func (w *wishes) wait(id uint32) int {
	if cell := w.waits.Lookup(id); cell != nil {
		return *cell
	}
	return 0
}

func (w *wishes) setWait(id uint32, priority int) {
	switch before := w.wait(id); {
	case before == 0 && priority != 0:
		*w.waits.Hold(id) = priority
	case before != 0:
		*w.waits.At(id) = priority
		if priority == 0 {
			w.waits.Release(id)
		}
	}
}

// few reports whether little memory is held.
func (w *wishes) few() bool { return w.runs.Cells() <= 16 && w.waits.Cells() <= 16 }

// priorityOf returns what is wished for an item.
func (sh *shard[T]) priorityOf(id uint32, e *entry[T]) int {
	switch e.phase() {
	case idle:
		return sh.table.wishes.wait(id)
	case processing:
		return 0
	}
	return sh.table.wishes.run(id)
}

// wishesFor returns the wishes, which may be nil while all priorities are 0. It makes
// sure that a priority can be granted.
func (sh *shard[T]) wishesFor(id uint32, priority int) *wishes {
	if priority != 0 && sh.queueOf(id).levels == nil {
		sh.needLevels(id)
	}
	return sh.table.wishes
}

// wishToWait raises the priority with which an item waits on.
func (sh *shard[T]) wishToWait(id uint32, priority int) {
	if w := sh.wishesFor(id, priority); w != nil {
		w.setWait(id, max(priority, w.wait(id)))
	}
}

// beginWish sets the priority with which an item begins to wait.
func (sh *shard[T]) beginWish(id uint32, priority int) {
	if w := sh.wishesFor(id, priority); w != nil {
		w.setWait(id, priority)
	}
}
