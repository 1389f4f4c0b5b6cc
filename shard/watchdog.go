package shard

import (
	"sync"

	"github.com/shardq/shardq/internal/shared"
)

// A watchdog finds items that have been in processing for long, and tells a hook of each,
// once for each processing. It needs the ages.
//
// The driver wakes for it when the oldest processing may have lasted too long. Whoever
// takes an item while nothing is watched sets it.
type watchdog[T comparable] struct {
	// after is how many ticks are too long; 0 if nobody wants to know.
	after uint64
	hook  func(Info[T])
	// next is when the driver is to look; never if nothing is in processing that was
	// not told of.
	next shared.Uint64[shared.Timer]

	mu sync.Mutex
	// found are the items that the hook is still to be told of, and pending says that
	// there are some.
	found   []Info[T]
	pending shared.Bool[shared.Timer]
	// closed says that a shutdown has begun: nothing is found any more.
	closed bool
}

// init takes a number of ticks. A stamp is of the last tick that had begun, so what has
// that stamp may be almost a tick younger.
func (w *watchdog[T]) init(hook func(Info[T]), ticks uint64) { w.hook, w.after = hook, ticks+1 }

// setWatchdog is to be called after items were handed out, with no lock held.
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
	next := s.pulse.now.Load()/s.time.tick + w.after
	if w.next.CompareAndSwap(never, next) && next < s.driver.armed.Load() {
		// The caller has got items by now. A panic of the clock would take them with
		// it; the next who comes to the driver sets the timer instead.
		defer func() { _ = recover() }()
		s.driver.poke()
	}
}

// findStuck is called by the driver when the watchdog is due. It sets it to never
// before it looks: whoever takes an item in a shard that was looked at already finds
// that, and sets it anew.
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

// findStuckIn looks into a shard, in turns of bounded length, and returns when to look
// again.
func (s *Set[T]) findStuckIn(sh *shard[T], now uint64) (next uint64) {
	for {
		found, next := sh.stuck(now)
		s.watchdog.keep(found)
		if next > now {
			return next
		}
	}
}

// stuck returns some of the items that are stuck and were not told of, and when the next
// of the others will be. It takes the lock.
func (sh *shard[T]) stuck(now uint64) (found []Info[T], next uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.table == nil {
		return nil, never
	}
	t := sh.table.times
	id := t.inFlight.head
	if t.told != 0 {
		id = sh.table.at(t.told).next
	}
	for ; id != 0; id = sh.table.at(id).next {
		since := min(t.of(id)/sh.set.time.tick, now) // which is before it, if the clock was set back
		next = since + sh.set.watchdog.after
		if next > now || len(found) == stepsPerHold {
			return found, next
		}
		found = append(found, sh.info(id))
		t.told = id
	}
	return found, never
}

// keep keeps what was found for tell. The driver may still be looking when a
// shutdown begins: what it finds then is dropped.
func (w *watchdog[T]) keep(found []Info[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(found) > 0 && !w.closed {
		w.found = append(w.found, found...)
		w.pending.Store(true)
	}
}

// close is called when a shutdown begins. It drops what was found, so that the
// queue refers to none of these items any more. It does not wait for a call of the
// hook: the hook itself may be what shuts the queue down.
func (w *watchdog[T]) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.found = true, nil
	w.pending.Store(false)
}

// tell calls the hook for what was found, until a shutdown begins. The caller holds
// no lock and not the driver's baton. If the hook panics, the next call of tell goes
// on with the others.
func (s *Set[T]) tell() {
	w := &s.watchdog
	for w.pending.Load() {
		if info, ok := w.takeFound(); ok {
			w.hook(info)
		}
	}
}

// takeFound takes one of those that were found.
func (w *watchdog[T]) takeFound() (info Info[T], ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.found) == 0 {
		return info, false
	}
	info, w.found[0] = w.found[0], info // the array outlives the item otherwise
	if w.found = w.found[1:]; len(w.found) == 0 {
		w.found = nil
		w.pending.Store(false)
	}
	return info, true
}
