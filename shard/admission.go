package shard

import "time"

// An admission is what an add may be refused for, beside a shutdown: the
// capacity, and the window of its item. It also has the outcome. A nil
// admission refuses nothing, and is that of most adds.
type admission struct {
	// limited makes the add honor the capacity, and acquired reports that the
	// limiter has granted a weight for it.
	limited, acquired bool
	// window is the length of the window that the add opens, from the reading
	// at to the tick ends.
	window time.Duration
	at     reading
	ends   uint64
	// settled reports that a shard has decided. It has then used or released
	// the weight.
	settled bool
	// id is that of the item's entry, if the add is limited and admitted.
	id uint32
	// err is why the add was refused.
	err error
}

// offer adds an item as the delay says, unless the admission or a shutdown
// refuses it. It returns the admission's error. It calls no hook: the caller
// must call notify.
func (s *Set[T]) offer(sh *shard[T], item T, to address, d Delay, a *admission) error {
	if d.Window > 0 {
		s.needWindows()
	}
	if d.Duration > 0 || d.Policy != KeepEarliest {
		s.fileIn(sh, item, to, d, a)
	} else {
		s.addAdmitted(sh, item, &to, d, a)
	}
	if a.err == nil && s.measures != nil {
		s.countRetryOf(item, d)
	}
	return a.err
}

// addAdmitted is offer without a delay.
func (s *Set[T]) addAdmitted(sh *shard[T], item T, to *address, d Delay, a *admission) {
	s.refresh()
	if d.Window > 0 {
		a.beginWindow(&s.time, s.driver.taken(s.time.nanoseconds()), d.Window)
	}
	r := s.request()
	r.priority = d.Priority
	sh.mu.Lock()
	fx := effects(0)
	if sh.admits(a, item, to) {
		id, e := sh.entryOf(a, item, to)
		fx = sh.add(id, e, r)
	}
	sh.mu.Unlock()
	s.publish(fx)
	s.watchWindow(a)
}

// admits reports whether the admission lets an add pass. If so, the shard has
// room for the item, and the caller must call entryOf before it releases the
// lock.
func (sh *shard[T]) admits(a *admission, item T, to *address) bool {
	switch {
	case sh.set.closing.refusing.Load():
		if a.limited || !sh.takesBack(item, to.hash) {
			sh.refuse(a)
		}
	case sh.inWindow(a, item):
		sh.count.deduplicated++
		sh.refuseFor(a, ErrNotAgain)
	case a.limited:
		sh.reserve(a, item, to)
	}
	a.settled = true
	return a.err == nil
}

// refuse drops an add because of a shutdown.
func (sh *shard[T]) refuse(a *admission) {
	sh.rare.dropped++
	if a != nil {
		sh.refuseFor(a, ErrShutDown)
	}
}

// refuseFor notes why an add is refused, and releases its weight.
func (sh *shard[T]) refuseFor(a *admission, err error) {
	sh.release(a)
	a.err, a.settled = err, true
}

// release gives the weight back that the limiter has granted, if it has.
func (sh *shard[T]) release(a *admission) {
	if a.acquired {
		sh.set.limit.Release(1)
		a.acquired = false
	}
}

// honorsCapacity reports whether the add is limited.
func (a *admission) honorsCapacity() bool { return a != nil && a.limited }

// reserve makes sure that the item has an entry, if the limiter allows.
func (sh *shard[T]) reserve(a *admission, item T, to *address) {
	sh.needTable()
	id, p := sh.table.find(to.hash, item)
	switch {
	case id != 0:
		sh.release(a) // another add has acquired it
		if sh.groups != nil {
			sh.configureAdded(id, &to.tag)
		}
		a.id = id
		return
	case sh.table.roomy == 0 && !sh.hasID():
		sh.refuseFor(a, errTooMany)
		return
	case !a.acquired && !sh.set.limit.TryAcquire(1):
		sh.refuseFor(a, ErrFull)
		return
	}
	a.id, _ = sh.table.insert(p, item)
	if sh.set.config.Group != nil {
		sh.joinGroup(a.id, &to.tag)
	}
}

// entryOf is entryFor of an item whose add was admitted. It opens the item's
// window.
func (sh *shard[T]) entryOf(a *admission, item T, to *address) (id uint32, e *entry[T]) {
	if a == nil {
		return sh.entryFor(item, to)
	}
	if id = a.id; id == 0 {
		id, e = sh.entryFor(item, to)
	} else {
		e = sh.table.at(id)
	}
	sh.openWindow(a, item)
	return id, e
}
