package shard

import "runtime"

func (s *Core) settle(due effects) {
	if due&noneDelayed != 0 {
		s.drains.delaysDone.settle()
	}
	if due&empty != 0 {
		s.drains.emptied.settle()
	}
	if due&quiet != 0 {
		s.drains.drained.settle()
	}
	if due&emptyNow != 0 {
		s.drains.idled.release()
	}
	if due&still != 0 {
		s.drains.stilled.release()
	}
	if due&files != 0 {
		s.driver.pokeKeeping()
	}
}

// after carries out effects: hooks last, because they may panic.
func (s *Core) after(fx effects) {
	if fx&^took != 0 || s.notifies { // otherwise there is nothing to call
		s.apply(fx)
	}
}

func (s *Core) apply(fx effects) {
	if fx&wakes != 0 {
		s.wake()
	}
	if fx&(yields|reports) != 0 {
		s.publish(fx &^ wakes)
	}
	if fx&tells != 0 || s.notifies {
		s.notify()
	}
}

// notify calls hooks. It may panic, so it comes last.
func (s *Core) notify() {
	send(&s.refreshes.outdated, s.refreshGroup)
	s.reportAdds()
	s.limit.Notify()
	if s.closing.untold.Load() > 0 && s.config.OnDropped != nil {
		if n := s.closing.untold.Swap(0); n > 0 { // of several callers at once, one gets the number
			s.config.OnDropped(n)
		}
	}
}

// publish carries out effects without calling a hook.
func (s *Core) publish(fx effects) {
	if fx&wakes != 0 {
		s.wake()
	} else if fx&yields != 0 {
		s.yield()
	}
	if fx&reports != 0 {
		s.settle(fx)
	}
}

func (s *Core) yield() {
	if s.parker.WokenPending() {
		runtime.Gosched()
	}
}

// ReportChanges calls the functions of watches.
func (s *Core) ReportChanges() { s.watches.send() }

func (s *Core) reportAdds() {
	s.ReportChanges()
	if s.config.hearsAdds {
		s.above.sendAdds()
	}
}

func (s *Core) hasReports() bool {
	return s.watches.changes.pending.Load() || s.expiry.pending.Load() || s.stuck.pending.Load() || s.above.owesAdds()
}

func (s *Core) callHooks() {
	send(&s.stuck, s.config.OnStuck)
	s.reportAdds()
	if s.expiry.pending.Swap(false) {
		s.expiry.hook()
	}
}
