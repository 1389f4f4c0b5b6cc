package shard

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// A State is where an item of a queue is.
type State uint8

const (
	// Ready: a Get would return the item, unless it is held back.
	Ready State = iota + 1
	// Processing: the item was handed out, and is not Done.
	Processing
	// Waiting: a delay of the item is running, and it is in no other state.
	Waiting
)

// String returns the state's name, in lower case.
func (s State) String() string {
	switch s {
	case Ready:
		return "ready"
	case Processing:
		return "processing"
	case Waiting:
		return "waiting"
	default:
		return fmt.Sprintf("State(%d)", uint8(s))
	}
}

// Info is what a queue knows of an item.
type Info[T comparable] struct {
	Item  T
	State State
	// Dirty: the item is in processing, and will be ready once more after that.
	Dirty bool
	// Since is when the item came into its state, to the tick; zero if the queue keeps
	// no ages. An item that waits may have been given another deadline since.
	Since time.Time
	// Deadline is when the delay of the item ends; zero if it does not wait. An item
	// that is ready or in processing may wait at the same time.
	Deadline time.Time
	// Priority is the priority of the item's next run, as far as it is known: 0 for an item
	// in processing that is not dirty. Of an item that waits and is ready, it is that with
	// which it is ready.
	Priority int
	// Attempts is how often the item was requeued, according to the limiter.
	Attempts int
	// Shard is the number of the item's shard.
	Shard int
	// Group is the item's group, if the queue has groups.
	Group string
	// Worker is the number of the worker that has the item, if a Run has it and metrics are kept;
	// otherwise 0.
	Worker int
}

// Any returns i with its item as an any.
func (i Info[T]) Any() Info[any] {
	return Info[any]{
		Item: i.Item, State: i.State, Dirty: i.Dirty, Since: i.Since, Deadline: i.Deadline,
		Priority: i.Priority, Attempts: i.Attempts, Shard: i.Shard, Group: i.Group, Worker: i.Worker,
	}
}

// Items returns an iterator over the items in a state. It goes from shard to shard, and
// copies what it wants of one while it holds the lock: what it shows of a shard was so at
// one moment, and nobody waits for the loop. Within a shard, ready items come in their
// order (those of a group, if there are groups, and one group after the other), and those in processing the longest first if the queue keeps ages.
func (s *Set[T]) Items(state State) iter.Seq[Info[T]] {
	return func(yield func(Info[T]) bool) {
		var rows []Info[T]
		for i := range s.shards {
			rows = s.shards[i].list(rows[:0], state, 0)
			if state != Ready { // those are in the order of the Gets
				rows = firstOf(rows, len(rows))
			}
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// A Look is what there is in a set.
type Look[T comparable] struct {
	Stats Stats
	// Processing, Ready and Waiting are some of the items.
	Processing, Ready, Waiting []Info[T]
}

// Look returns at most limit items of each state, those first that are of most interest:
// the longest in the state if the queue keeps ages, and of those that wait the first to be
// ready. It looks at one shard after the other, at each once: what it says of a shard was
// so at one moment, and no item is missed that goes from state to state meanwhile.
func (s *Set[T]) Look(limit int) (l Look[T]) {
	limit = max(0, min(limit, math.MaxInt32))
	stats, now := s.newStats()
	l.Stats = stats
	for i := range s.shards {
		l.lookInto(&s.shards[i], limit, now)
	}
	s.finish(&l.Stats)
	l.cut(limit)
	return l
}

func (l *Look[T]) lookInto(sh *shard[T], limit int, now present) {
	sh.mu.Lock()
	sh.addLockedTo(&l.Stats, now)
	if limit > 0 {
		l.Processing = sh.listLocked(l.Processing, Processing, limit)
		l.Ready = sh.listLocked(l.Ready, Ready, limit)
		l.Waiting = sh.listLocked(l.Waiting, Waiting, limit)
	}
	sh.mu.Unlock()
	if max(len(l.Processing), len(l.Ready), len(l.Waiting)) > 4*limit {
		l.cut(limit)
	}
}

func (l *Look[T]) cut(limit int) {
	for _, rows := range []*[]Info[T]{&l.Processing, &l.Ready, &l.Waiting} {
		*rows = firstOf(*rows, limit)
	}
}

// firstOf sorts the rows, and cuts them down to a number.
func firstOf[T comparable](rows []Info[T], limit int) []Info[T] {
	slices.SortStableFunc(rows, func(a, b Info[T]) int {
		if a.State == Waiting {
			return a.Deadline.Compare(b.Deadline)
		}
		return a.Since.Compare(b.Since)
	})
	clear(rows[min(limit, len(rows)):])
	return rows[:min(limit, len(rows))]
}

// list appends the shard's items in a state to rows: all of them if limit is 0, and
// otherwise at least the first so many, as far as the shard knows the order.
func (sh *shard[T]) list(rows []Info[T], state State, limit int) []Info[T] {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.listLocked(rows, state, limit)
}

func (sh *shard[T]) listLocked(rows []Info[T], state State, limit int) []Info[T] {
	if sh.table == nil {
		return rows
	}
	one := func(id uint32) { rows = append(rows, sh.info(id)) }
	add := atMost(limit, one)
	switch {
	case state == Ready && sh.groups != nil && limit > 0:
		for _, id := range sh.firstGroups(limit) {
			sh.walkGroup(id, atMost(limit, one))
		}
	case state == Ready:
		sh.walkReady(add)
	case state == Waiting && sh.wheel != nil:
		for _, id := range sh.waiters(limit) {
			rows = append(rows, sh.info(id))
		}
	case state == Processing && sh.set.ages:
		sh.table.walk(&sh.table.inFlight, add)
	case state == Processing:
		sh.walkProcessing(add)
	}
	return rows
}

// atMost returns a visit that goes on until it has come by so many times; 0 is no bound.
func atMost(limit int, visit func(id uint32)) func(id uint32) (on bool) {
	return func(id uint32) bool {
		visit(id)
		limit--
		return limit != 0
	}
}

// info copies what there is to know of an entry.
func (sh *shard[T]) info(id uint32) Info[T] {
	e := sh.table.at(id)
	i := Info[T]{Item: e.item, State: e.phase().state(), Dirty: e.phase() == dirty, Shard: int(sh.number)}
	if e.waiting() {
		i.Deadline = sh.set.time.at(sh.due(id))
	}
	if sh.table.wishes != nil {
		i.Priority = sh.priorityOf(id, e)
	}
	if sh.groups != nil {
		i.Group = sh.groups.names.at(sh.groupOf(id)).item
	}
	if sh.set.ages {
		i.Since = sh.set.time.moment(*sh.table.since.At(id))
	}
	return i
}

// state returns what the phase is called outside.
func (p phase) state() State {
	return [phases]State{idle: Waiting, ready: Ready, processing: Processing, dirty: Processing}[p]
}

// walk visits the entries of a list, until visit returns false, and reports whether that
// did not happen.
func (s *slab[T]) walk(f *fifo, visit func(id uint32) bool) (on bool) {
	for id := f.head; id != 0; id = s.at(id).next {
		if !visit(id) {
			return false
		}
	}
	return true
}

// walkReady visits the ready items, those of one group after those of another.
func (sh *shard[T]) walkReady(visit func(id uint32) bool) {
	if sh.groups == nil {
		sh.table.walkLevels(&sh.fifo, sh.levels, visit)
		return
	}
	for id := range sh.groups.inOrder() {
		if !sh.walkGroup(id, visit) {
			return
		}
	}
}

// walkLevels visits what is ready in a FIFO and in levels, the highest first.
func (s *slab[T]) walkLevels(f *fifo, l *levels, visit func(id uint32) bool) (on bool) {
	if !s.walk(f, visit) {
		return false
	}
	if l == nil {
		return true
	}
	for _, v := range l.inOrder() {
		if !s.walk(&v.list, visit) {
			return false
		}
	}
	return true
}

// walkProcessing visits the items in processing, wherever they are. Without the list that
// ages need, it goes through all entries until it has found as many as there are.
func (sh *shard[T]) walkProcessing(visit func(id uint32) bool) {
	left := sh.processing
	for c := range sh.table.spaces {
		for cell := range uint32(sh.table.spaces[c].used) {
			if left == 0 {
				return
			}
			id := sh.table.firstOf(int32(c)) + cell
			if p := sh.table.at(id).phase(); p != processing && p != dirty {
				continue
			}
			if left--; !visit(id) {
				return
			}
		}
	}
}

// waiters returns the items that wait and are in no other state: all of them, in no order that
// says anything, if limit is 0, and otherwise the first so many to be ready.
func (sh *shard[T]) waiters(limit int) (ids []uint32) {
	onlyWaits := func(id uint32) bool { return sh.table.at(id).phase() == idle }
	if limit > 0 {
		return sh.wheel.Earliest(limit, onlyWaits)
	}
	for id := range sh.wheel.All() {
		if onlyWaits(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (sh *shard[T]) due(id uint32) uint64 {
	deadline, _ := sh.wheel.Deadline(id)
	return deadline
}
