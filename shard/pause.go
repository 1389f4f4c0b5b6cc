package shard

import (
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/shard/internal/line"
	"github.com/shardq/shardq/stats"
)

// PauseGroup holds the items of a group back until a moment, or until
// ResumeGroup if the moment is zero. It replaces an earlier pause. PauseGroup,
// ResumeGroup and RefreshGroup must only be called if there are groups.
func (s *Core) PauseGroup(group string, until time.Time) {
	end := uint64(math.MaxUint64)
	if !until.IsZero() {
		end = s.Moment(until)
	}
	s.pauseGroup(group, end)
}

func (s *Core) ResumeGroup(group string) { s.pauseGroup(group, 0) }

func (s *Core) pauseGroup(group string, end uint64) {
	now := s.time.Nanoseconds()
	s.changeGroup(group, end > now, func(l *line.Line, of uint32) (freed bool) { return l.Pause(of, end, now) })
}

type refreshes struct {
	begun    atomic.Uint32
	outdated outbox[string] // new groups, of adds that a RefreshGroup may have overtaken
}

// RefreshGroup asks the user again for the policy of a group.
func (s *Core) RefreshGroup(group string) {
	s.refreshes.begun.Add(1)
	s.refreshGroup(group)
}

func (s *Core) refreshGroup(group string) {
	var to line.Tag
	now := s.gate.last.Load()
	defer s.changeGroup(group, false, func(l *line.Line, of uint32) (freed bool) { // also if the clock or the policy panics
		return l.Reconfigure(of, &to, now)
	})
	now = s.time.Nanoseconds()
	s.tag(&to, group)
}

// changeGroup calls change for a group, which it makes if make is set. It wakes
// a consumer if the group was freed, and also if consumers may leave, because
// the last group that they waited for may be paused now.
func (s *Core) changeGroup(group string, make bool, change func(l *line.Line, of uint32) (freed bool)) {
	hash := uint32(maphash.String(s.seed, group))
	sh := s.shardAt(s.groupRoute(group))
	freed := false
	sh.lock()
	if of := sh.findGroup(group, hash, make); of != 0 {
		freed = change(&sh.line, of)
		sh.show()
		sh.releaseIfDue()
	}
	fx := sh.reportsDue()
	sh.unlock()
	s.drains.recheck(&s.closing)
	if s.publish(fx); freed || s.mayLeave() {
		s.wake()
	}
}

func (sh *shard) findGroup(name string, hash uint32, make bool) (of uint32) {
	if sh.table == nil && !make {
		return 0
	}
	sh.needTable()
	return sh.line.Find(&sh.set.lines, &sh.table.Table, name, hash, make)
}

// afterGate follows takes. After a shutdown, too, consumers may wait for the
// gate.
func (s *Core) afterGate() {
	if s.gate.opens.Load() < s.driver.armed.Load() {
		s.driver.pokeKeeping() // to open the gate in time
	}
	if s.closing.complete.Load() && s.mayLeave() {
		s.wake()
	}
}

// Pause stops the set from handing out items. Adds go on.
func (s *Core) Pause() {
	now := s.time.Nanoseconds()
	s.gate.change(func() {
		if !s.gate.paused.Load() {
			s.gate.since.Store(now)
		}
		s.gate.paused.Store(true)
	})
	s.drains.recheck(&s.closing)
	if s.mayLeave() {
		s.wake() // a consumer may wait for a token, after ShutDown
	}
}

func (s *Core) Resume() {
	s.gate.change(func() { s.gate.paused.Store(false) })
	s.wake()
}

// SetRate limits how many items the set hands out. It panics if r has a fault.
func (s *Core) SetRate(r stats.Rate) {
	to := line.RateOf(r)
	s.replaceRate(to, s.time.Nanoseconds())
	s.endRateIfStopped()
}

// endRateIfStopped is called by SetRate after setting a rate, and by the
// driver, which opens the gate, after stopping. So one finds what the other
// did. SetRate must not wait for a shutdown, whose hooks may call it.
func (s *Core) endRateIfStopped() {
	if s.driver.ownership.Load() == timerStopped && s.gate.bucket.Load() != nil {
		s.replaceRate(line.Rate{}, 0)
	}
}

func (s *Core) replaceRate(to line.Rate, now uint64) {
	s.gate.change(func() {
		s.gate.setRate(to, now)
		s.gate.opens.Store(never)
	})
	s.drains.recheck(&s.closing)
	s.wake() // the woken consumer closes the gate again, if there is no token
}
