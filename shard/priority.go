package shard

// addAtPriority is Add with a requested priority.
func (s *Set[T]) addAtPriority(item T, priority int) {
	if s.mayDiffer && s.Reject(item) {
		return
	}
	sh, to := s.addressOf(item)
	s.refresh()
	r := s.request()
	r.priority = priority
	sh.mu.Lock()
	fx := sh.addItem(item, &to, r)
	sh.mu.Unlock()
	s.after(fx)
}

// requestPriority notes the requested priority of an entry that is about to be
// added. The run that serves several adds has the greatest priority requested.
func (sh *shard[T]) requestPriority(id uint32, e *entry[T], priority int) {
	if priority != 0 && sh.queueOf(id).levels == nil {
		sh.needLevels(id)
	}
	switch w := sh.table.requested; {
	case e.phase() == idle || e.phase() == processing:
		w.setRun(id, priority)
	case priority <= w.run(id):
	case e.phase() == dirty:
		w.setRun(id, priority)
	default:
		sh.raise(id, e, priority)
	}
}

// raise gives a higher priority to an item that is ready.
func (sh *shard[T]) raise(id uint32, e *entry[T], priority int) {
	q := sh.queueOf(id)
	q.raise(sh.table, id, e, priority)
	if sh.groups == nil {
		sh.publishPriority(q.levels, false)
	}
}
