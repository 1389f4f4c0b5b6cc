package line

import (
	"math"

	"github.com/shardq/shardq/shard/internal/items"
)

// Never is a moment, or a tick, that does not come.
const Never = math.MaxUint64

// Config is what the lines of a set have in common.
type Config struct {
	Grouped bool
	Names   *items.Type // of the groups
	Tick    uint64
	// Ranked makes levels remember which was passed over longest. If
	// LowPriorityInterval is not 0, every n-th take serves that one.
	Ranked                bool
	LowPriorityInterval   uint32
	PrioritiesBeforeTurns bool // groups take turns within the highest ready priority
	KeepsLevels           bool // of an empty line
}

// tickAt returns the first tick that does not begin before a moment.
func (c *Config) tickAt(moment uint64) (tick uint64) {
	if tick = moment / c.Tick; moment%c.Tick != 0 {
		tick++
	}
	return tick
}

// A Line has the ready items of a shard, and counts those in processing. The
// zero Line is empty.
type Line struct {
	queue          // unused with groups, which have their own
	groups *groups // nil until there is one
}

// IsPlain reports whether the line is a mere FIFO. Then Append and Pop do what
// Push and Take do, without a call.
func (l *Line) IsPlain() bool { return l.levels == nil && l.groups == nil }

// IsEmpty, Append and Pop are for a plain line.
func (l *Line) IsEmpty() bool { return l.fifo.Head == 0 }

func (l *Line) Append(t *items.Table, id uint32, e *items.Entry) { t.Join(&l.fifo, id, e) }

func (l *Line) Pop(t *items.Table) (id uint32, e *items.Entry) {
	id = l.fifo.Head
	e = t.At(id)
	l.fifo.Head = e.Next
	l.fifo.Length--
	l.processing++
	return id, e
}

// CanTake reports whether an item is ready, and in no throttled group.
func (l *Line) CanTake() bool {
	if l.groups != nil {
		return l.groups.best.turn != 0
	}
	return l.fifo.Head != 0
}

func (l *Line) Depth() int32 {
	if l.groups != nil {
		return l.groups.depth
	}
	return l.depth()
}

func (l *Line) Processing() int32 {
	if l.groups != nil {
		return l.groups.processing
	}
	return l.processing
}

// Push appends an entry that became ready to its level and its group.
func (l *Line) Push(t *items.Table, id uint32, e *items.Entry) {
	if l.groups == nil {
		l.push(t, id, e)
		return
	}
	of, g := l.groupOf(id)
	becameReady := g.ready.isEmpty()
	g.ready.push(t, id, e)
	if l.groups.depth++; becameReady {
		l.groups.becameReady(of, g)
	} else {
		l.groups.followPriority(of, g)
	}
}

func (l *Line) Pull(t *items.Table, id uint32, e *items.Entry) {
	if l.groups == nil {
		l.pull(t, id, e)
		return
	}
	of, g := l.groupOf(id)
	g.ready.pull(t, id, e)
	l.groups.pulled(of, g)
}

// Raise gives a ready entry a greater priority. It becomes the last of its level.
func (l *Line) Raise(t *items.Table, id uint32, e *items.Entry, priority int) {
	if l.groups == nil {
		l.raise(t, id, e, priority)
		return
	}
	of, g := l.groupOf(id)
	g.ready.raise(t, id, e, priority)
	l.groups.followPriority(of, g)
}

// An Outcome says how a take ended.
type Outcome uint8

const (
	Nothing Outcome = iota // nothing can be taken
	// NoToken: the group in turn had no token at the moment of the take. The
	// group is throttled if the moment was fresh: another take may have had a
	// later reading.
	NoToken
	Took       // a line without turns
	TurnGoesOn // took, and the same consumer may go on
	TurnOver   // took the last of a round of all groups
)

// Take takes the next entry into processing. passedOver chooses the level that
// was passed over longest, of ranked levels. now and fresh are for rates.
func (l *Line) Take(t *items.Table, passedOver bool, now uint64, fresh bool) (id uint32, e *items.Entry, priority int, out Outcome) {
	if l.groups != nil {
		return l.groups.take(t, now, fresh)
	}
	if l.fifo.Head == 0 {
		return 0, nil, 0, Nothing
	}
	id, e, priority = l.take(t, passedOver)
	return id, e, priority, Took
}

// NeedsTime reports whether a take depends on the time.
func (l *Line) NeedsTime() bool { return l.groups != nil && l.groups.rated }

// Finish ends a processing, and reports whether that frees the entry's group.
func (l *Line) Finish(id uint32) (freed bool) {
	if l.groups == nil {
		l.processing--
		return false
	}
	return l.groups.finish(id)
}

// NeedLevels prepares for an entry of another priority than 0, or with a place.
func (l *Line) NeedLevels(c *Config, t *items.Table, id uint32) {
	q := &l.queue
	if l.groups != nil {
		_, g := l.groupOf(id)
		q = &g.ready
	}
	if q.levels == nil {
		t.NeedRequested()
		q.needLevels(c.Ranked, c.LowPriorityInterval)
	}
}

// Serves returns the priority of the level that is served, if there are levels.
// A line with groups serves none.
func (l *Line) Serves() (priority int, ok bool) {
	if l.levels == nil {
		return 0, false
	}
	return l.levels.served.priority, true
}

// ReleaseLevels is called when the shard has become empty. Now and then it gives
// back the memory of a line that had many levels.
func (l *Line) ReleaseLevels(c *Config, t *items.Table) (released bool) {
	return l.levels != nil && l.releaseLevels(c, t)
}

func (l *Line) releaseLevels(c *Config, t *items.Table) (released bool) {
	l.levels.emptied++
	few := len(l.levels.byPriority) <= mostIdleLevels && t.Requested.Cells() <= 16
	if c.KeepsLevels || few || l.levels.emptied%patience != 0 {
		return false
	}
	t.DropRequested()
	l.levels = nil
	return true
}

// patience is how often a shard becomes empty until it gives its levels back.
const patience = 64
