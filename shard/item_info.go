package shard

import "github.com/shardq/shardq/stats"

func (sh *shard[T]) info(id uint32) stats.Item[T] {
	e := sh.table.at(id)
	i := stats.Item[T]{Item: e.item, State: e.phase().state(), Dirty: e.phase() == dirty, Shard: int(sh.number)}
	if e.delayed() {
		i.Deadline = sh.set.time.at(sh.due(id))
	}
	if sh.table.requested != nil {
		i.Priority = sh.priorityOf(id, e)
	}
	if sh.groups != nil {
		i.Group = sh.groups.names.at(sh.groupOf(id)).item
	}
	if t := sh.table.times; t != nil {
		i.Since = sh.set.time.moment(t.of(id))
	}
	return i
}

// Lookup describes an item, if the set holds it.
func (s *Set[T]) Lookup(item T) (info stats.Item[T], ok bool) {
	sh, hash := s.locate(item)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	id := sh.find(item, hash)
	if id == 0 {
		return info, false
	}
	return sh.info(id), true
}

func (p phase) state() stats.State {
	return [...]stats.State{stats.Delayed, stats.Ready, stats.Processing, stats.Processing}[p] // as the constants
}

func (sh *shard[T]) walkReady(visit func(id uint32) bool) {
	if sh.groups == nil {
		sh.ready.walk(sh.table, visit)
		return
	}
	for id := range sh.groups.inOrder() {
		if !sh.groups.at(id).ready.walk(sh.table, visit) {
			return
		}
	}
}

func (sh *shard[T]) due(id uint32) uint64 {
	deadline, _ := sh.wheel.Deadline(id)
	return deadline
}
