package shard

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

var errStill = fmt.Errorf("nothing that is left can be handed out before the deadline: %w", context.DeadlineExceeded)

// awaitDrain returns nil when d is over. Otherwise it returns why it ends early:
// the error of ctx, [ErrShutDown], or that all would stand still until the
// deadline of ctx. A call such as Resume may change that, but need not come.
func (s *Set[T]) awaitDrain(ctx context.Context, d *drain, released <-chan struct{}) (cause error) {
	deadline, limited := ctx.Deadline()
	for again := true; again; {
		changed := (<-chan struct{})(nil)
		if again = false; limited {
			changed = s.stilled.released() // before the check, so that no later change is missed
			if s.isStill(deadline) {
				cause = errStill
				break
			}
		}
		select {
		case <-d.done:
		case <-ctx.Done():
		case <-released:
		case <-changed:
			again = true
		}
	}
	if d.owing.Load() == 0 { // both may have happened
		return nil
	}
	return cmp.Or(ctx.Err(), cause, ErrShutDown)
}

func (s *Set[T]) recheckDrains() {
	if s.closing.refusing.Load() {
		s.stilled.release()
	}
}

// isStill reports whether nothing is in processing, and no delay, rate or pause
// ends by a deadline in real time so that something could be handed out. The
// set's clock is taken to run as fast as real time. A clock with a method Step,
// as clock.Fake, may take a step at any time. Each shard reports its next halt.
func (s *Set[T]) isStill(deadline time.Time) bool {
	if s.time.steps {
		return false
	}
	now := s.time.nanoseconds()
	until := (now + uint64(max(0, time.Until(deadline)))) / s.time.tick
	shut := s.gateOpens(now) > until
	all := !shut || s.gate.entered.Load() == 0 // after the gate, and before what a take may change
	for sh := range s.made() {
		all = s.isShardStill(sh, until, shut) && all
	}
	return all
}

func (s *Set[T]) gateOpens(now uint64) (tick uint64) {
	b := s.gate.bucket.Load()
	switch {
	case s.gate.paused.Load():
		return never
	case b == nil:
		return 0
	}
	full := b.full.Load()
	if opens := b.rate.opens(full); opens > now && full != replaced {
		return s.time.tickAt(opens)
	}
	return 0
}

func (s *Set[T]) isShardStill(sh *shard[T], until uint64, shut bool) bool {
	sh.mu.Lock()
	sh.owes |= owed(still)
	is := sh.processing() == 0 && (shut || !sh.servable() && sh.wheel.next() > until)
	sh.mu.Unlock()
	return is && (shut || s.waits == nil || s.waits[sh.number].Load() > until || !s.freesGroup(sh, until))
}

// servable reports whether an item is ready, and in no throttled group.
func (sh *shard[T]) servable() bool {
	if sh.groups == nil {
		return !sh.ready.isEmpty()
	}
	return sh.groups.best.turn != 0
}

func (s *Set[T]) freesGroup(sh *shard[T], until uint64) (frees bool) {
	s.inPieces(sh, func(n int) (visited int, more bool) {
		g := sh.groups
		if g == nil {
			return 0, false
		}
		return g.names.piece(n, func(id uint32) {
			if state := g.states.Lookup(id); state != nil && state.phase == throttled {
				b := g.bucketOf(id, state)
				frees = frees || b != nil && b.place != 0 && b.deadline <= until
			}
		})
	}, func() bool { return !frees })
	return frees
}
