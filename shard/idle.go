package shard

import (
	"context"
	"runtime"
)

// WaitIdle returns nil once there was a moment during the call at which the set held
// nothing: nothing was ready, in processing, or waiting. It returns ctx.Err() if ctx
// ends before. Adds may go on.
//
// If also is not nil, it has to be true at that moment as well. It may be about
// things that come to the set before they are gone.
//
// An item that hops from shard to shard is not to be overlooked, nor is there a count
// of items that all shards share. So the caller looks at all shards twice. One that was
// empty both times, and has counted nothing in between, was empty all the time. So the
// time between the two passes is such a moment, for all shards together.
func (s *Set[T]) WaitIdle(ctx context.Context, also func() bool) error {
	looks := make([]uint64, len(s.shards)) // 0 also of those that are not there
	for {
		changed := s.idled.released() // before the look: a report that comes after it is heard
		switch s.lookIdle(looks, also) {
		case idleNow:
			return nil
		case idleAgain:
			if err := ctx.Err(); err != nil {
				return err
			}
			runtime.Gosched()
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// An idleness is what came of a look.
type idleness uint8

const (
	// notIdle: something is held, and there will be a report when that is gone.
	notIdle idleness = iota
	// idleNow: nothing was held, at one moment.
	idleNow
	// idleAgain: something came and went during the look.
	idleAgain
)

func (s *Set[T]) lookIdle(counts []uint64, also func() bool) idleness {
	clear(counts)
	for sh := range s.made() {
		empty, count := sh.lookEmpty()
		if !empty {
			return notIdle
		}
		counts[sh.number] = count
	}
	if also != nil && !also() {
		return notIdle
	}
	for sh := range s.made() {
		if empty, count := sh.lookEmpty(); !empty || count != counts[sh.number] {
			return idleAgain
		}
	}
	return idleNow
}

// lookEmpty reports whether the shard holds nothing, and what it has counted so far.
// It asks for a report the next time that the shard becomes empty. It takes the
// lock.
func (sh *shard[T]) lookEmpty() (isEmpty bool, count uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.owes |= emptyNow
	return sh.isEmpty(), sh.comings()
}

// comings returns a number that has grown whenever an item has come and gone: it was
// added, or it waited and was canceled or dropped.
func (sh *shard[T]) comings() uint64 {
	return sh.count.added + sh.rare.canceled + sh.rare.dropped
}
