package shard

import (
	"sync"

	"github.com/shardq/shardq/internal/shared"
	"github.com/shardq/shardq/stats"
)

// A watchdog finds items that have been in processing for long, and calls a
// hook for each, once for each processing. It needs the ages.
//
// The driver wakes for the watchdog when the oldest processing may have lasted
// too long. A consumer that takes an item while next is never sets next.
type watchdog[T comparable] struct {
	// after is the number of ticks that is too long, or 0 if there is no hook.
	after uint64
	hook  func(stats.Item[T])
	// next is when the driver has to search again. It is never if all items in
	// processing were found, or there are none.
	next shared.Uint64[shared.Timer]

	mu sync.Mutex
	// found are the items that the hook still has to be called for, and pending
	// reports that there are some.
	found   []stats.Item[T]
	pending shared.Bool[shared.Timer]
	// closed reports that a shutdown has begun. Nothing is found any more.
	closed bool
}

// init takes a number of ticks. A stamp is the start of its tick, so an item
// with that stamp may be almost a tick younger.
func (w *watchdog[T]) init(hook func(stats.Item[T]), ticks uint64) { w.hook, w.after = hook, ticks+1 }

// setWatchdog must be called after items were handed out, with no lock held.
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

// findStuck is called by the driver when the watchdog is due. It sets next to
// never before it searches. A consumer that takes an item in a shard that was
// searched already finds that, and sets next again.
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

// findStuckIn searches a shard, in turns of bounded length, and returns when to
// search again.
func (s *Set[T]) findStuckIn(sh *shard[T], now uint64) (next uint64) {
	for {
		found, next := s.stuckIn(sh, now)
		s.watchdog.keep(found)
		if next > now {
			return next
		}
	}
}

// stuckIn returns some of the items that are stuck and were not found before,
// and when the next item will be stuck.
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

// keep keeps the found items for reportStuck. The driver may still be searching
// when a shutdown begins. What it finds then is dropped.
func (w *watchdog[T]) keep(found []stats.Item[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(found) > 0 && !w.closed {
		w.found = append(w.found, found...)
		w.pending.Store(true)
	}
}

// close is called when a shutdown begins. It drops the found items, so that the
// queue no longer refers to them. It does not wait for a call of the hook,
// because the hook itself may shut the queue down.
func (w *watchdog[T]) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.found = true, nil
	w.pending.Store(false)
}

// reportStuck calls the hook for the found items, until a shutdown begins. The
// caller holds no lock and does not own the timer. If the hook panics, the next
// call of reportStuck goes on with the others.
func (s *Set[T]) reportStuck() {
	w := &s.watchdog
	for w.pending.Load() {
		if info, ok := w.takeFound(); ok {
			w.hook(info)
		}
	}
}

// takeFound takes one of the found items.
func (w *watchdog[T]) takeFound() (info stats.Item[T], ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.found) == 0 {
		return info, false
	}
	info, w.found[0] = w.found[0], info // the array must not keep the item
	if w.found = w.found[1:]; len(w.found) == 0 {
		w.found = nil
		w.pending.Store(false)
	}
	return info, true
}
