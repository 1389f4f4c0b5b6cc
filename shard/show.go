package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/line"
)

// What a shard asks of its line, and tells others of it.

func (s *Settings) lines() line.Config {
	c := line.Config{
		Grouped: s.grouped, Names: items.TypeOf[string](), Tick: uint64(s.Tick),
		Ranked:              s.LowPriorityInterval > 0 || s.Rules.KeepPlaces,
		LowPriorityInterval: uint32(s.LowPriorityInterval), PrioritiesBeforeTurns: s.Rules.PrioritiesBeforeTurns,
		KeepsLevels: s.tracksAdds(),
	}
	if !s.grouped && s.Shards > 1 {
		c.LowPriorityInterval = 0 // consumers count for all shards: see lockByPriority
	}
	return c
}

func (sh *shard) push(id uint32, e *items.Entry) {
	if t := sh.table.times; t != nil {
		t.set(id, t.coarse.Now.Load())
	}
	if !sh.line.IsPlain() {
		sh.line.Push(&sh.table.Table, id, e)
		sh.show()
		return
	}
	if sh.line.IsEmpty() {
		sh.set.shards.ready.Mark(sh.number)
	}
	sh.line.Append(&sh.table.Table, id, e)
}

func (sh *shard) pull(id uint32, e *items.Entry) {
	sh.line.Pull(&sh.table.Table, id, e)
	sh.show()
}

// show publishes what has changed in a line that is not plain.
func (sh *shard) show() {
	if sh.line.HasChanged() {
		sh.showLine()
	}
}

// showLine sets the ready bit first, or clears it last. So a consumer that finds all
// bits clear, and counts no throttled group, has missed nothing.
func (sh *shard) showLine() {
	sh.line.See()
	s, canTake := sh.set, sh.line.CanTake()
	marked := s.shards.ready.IsMarked(sh.number)
	if canTake && !marked {
		s.shards.ready.Mark(sh.number)
	}
	if sh.line.GroupsChanged() {
		sh.showGroups()
	}
	if marked && !canTake {
		s.shards.ready.Clear(sh.number)
	}
	if priority, ok := sh.line.Serves(); ok && len(s.shards.all) > 1 {
		s.shards.showPriority(sh.number, priority, canTake && !marked)
	}
}

// If the wait of a group ends before the driver wakes, showGroups makes the
// shard owe the driver a poke, once the lock is released.
func (sh *shard) showGroups() {
	c := sh.line.Changes()
	if c.Count != 0 {
		sh.set.throttled.add(c)
	}
	if !c.Wait {
		return
	}
	next := sh.line.FirstWait()
	sh.set.throttled.waits[sh.number].Store(next)
	if next < sh.set.driver.armed.Load() {
		sh.owes |= owed(files)
	}
}

// If there are groups, join gives a new entry its group, and configure gives
// the group of an older entry its policy.
func (sh *shard) join(id uint32, to *address) {
	// A RefreshGroup that has begun since the policy was asked for may have come
	// before the group. Then notify asks again.
	to.Outdated = to.Weight > 0 && to.Asked != sh.set.refreshes.begun.Load()
	if sh.line.Join(&sh.set.lines, &sh.table.Table, id, &to.Tag) {
		sh.show()
	}
	if to.Outdated {
		keep(&sh.set.refreshes.outdated, to.Group)
	}
}

func (sh *shard) configure(id uint32, to *address) {
	if sh.line.Configure(id, &to.Tag) {
		sh.show()
	}
}

// releaseIfDue gives memory back that an empty shard does not need.
func (sh *shard) releaseIfDue() {
	switch {
	case sh.table.Live != 0:
	case sh.line.IsForgotten() && (sh.table.HadEnough() || sh.line.HadEnough()):
		sh.peak = sh.table.GiveBack()
		sh.table, sh.wheel, sh.line = nil, nil, line.Line{}
		sh.dropMarks()
		sh.set.shards.hidePriority(sh.number)
	case sh.line.ReleaseLevels(&sh.set.lines, &sh.table.Table):
		sh.set.shards.hidePriority(sh.number)
	}
}
