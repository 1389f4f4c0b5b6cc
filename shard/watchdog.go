package shard

import (
	"sync/atomic"

	"github.com/shardq/shardq/stats"
)

// A watchdog calls a hook for each processing that takes long. It needs the
// ages. The driver wakes for it when the oldest processing may have lasted too
// long. A consumer that takes an item while next is never sets next.
type watchdog[T comparable] struct {
	after uint64 // the ticks that are too long, or 0 without a hook
	hook  func(stats.Item[T])
	next  atomic.Uint64         // when the driver has to search again, or never
	found outbox[stats.Item[T]] // the calls of the hook that are due, until a shutdown begins
}

// init: an item may be almost a tick younger than its stamp.
func (w *watchdog[T]) init(hook func(stats.Item[T]), ticks uint64) { w.hook, w.after = hook, ticks+1 }

// setWatchdog follows a hand-out, with no lock held.
func (s *Set[T]) setWatchdog() {
	if s.watchdog.after > 0 {
		s.watch()
	}
}

func (s *Set[T]) watch() {
	w := &s.watchdog
	if w.next.Load() != never {
		return
	}
	next := s.coarse.now.Load()/s.time.tick + w.after
	if w.next.CompareAndSwap(never, next) && next < s.driver.armed.Load() {
		// The caller has items by now, and a panic of the clock would lose
		// them. The next call that reaches the driver sets the timer instead.
		defer func() { _ = recover() }()
		s.driver.poke()
	}
}

// findStuck sets next to never before it searches. So a consumer that takes an
// item in a shard that was searched already sets next again.
func (s *Set[T]) findStuck(now uint64) {
	s.watchdog.next.Store(never)
	first := uint64(never)
	for sh := range s.made() {
		first = min(first, s.findStuckIn(sh, now))
	}
	for {
		next := s.watchdog.next.Load()
		if first >= next || s.watchdog.next.CompareAndSwap(next, first) {
			return
		}
	}
}

func (s *Set[T]) findStuckIn(sh *shard[T], now uint64) (next uint64) {
	for {
		found, next := s.stuckIn(sh, now)
		s.watchdog.found.keep(found...) // or drops them, if a shutdown has begun
		if next > now {
			return next
		}
	}
}

// stuckIn also returns when the next item will be stuck.
func (s *Set[T]) stuckIn(sh *shard[T], now uint64) (found []stats.Item[T], next uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.table == nil {
		return nil, never
	}
	t := sh.table.times
	id := t.inFlight.head
	if t.reported != 0 {
		id = sh.table.at(t.reported).next
	}
	for ; id != 0; id = sh.table.at(id).next {
		since := min(t.of(id)/s.time.tick, now) // now is earlier if the clock was set back
		next = since + s.watchdog.after
		if next > now || len(found) == stepsPerHold {
			return found, next
		}
		found = append(found, sh.info(id))
		t.reported = id
	}
	return found, never
}

func (s *Set[T]) reportStuck() { s.watchdog.found.send(s.watchdog.hook) }
