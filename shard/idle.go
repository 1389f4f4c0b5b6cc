package shard

import (
	"context"
	"runtime"
)

// WaitIdle blocks until the set holds nothing at some moment, and also, unless
// it is nil, returns true then. It returns the error of ctx if that ends first.
//
// An item may move from shard to shard, so WaitIdle checks all twice. A shard
// that was empty both times, and has counted nothing in between, was empty all
// the time.
func (s *Set[T]) WaitIdle(ctx context.Context, also func() bool) error {
	counts := make([]uint64, len(s.shards)) // 0 for shards that do not exist
	for {
		changed := s.idled.released() // before the check, so that no later report is missed
		switch s.checkIdle(counts, also) {
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

type idleness uint8

const (
	notIdle   idleness = iota // a report follows when the set is empty
	idleNow                   // at one moment
	idleAgain                 // something came and went during the check
)

func (s *Set[T]) checkIdle(counts []uint64, also func() bool) idleness {
	clear(counts)
	for sh := range s.made() {
		empty, count := s.checkEmpty(sh)
		if !empty {
			return notIdle
		}
		counts[sh.number] = count
	}
	if also != nil && !also() {
		return notIdle
	}
	for sh := range s.made() {
		if empty, count := s.checkEmpty(sh); !empty || count != counts[sh.number] {
			return idleAgain
		}
	}
	return idleNow
}

// checkEmpty returns a count that grows whenever an item has come and gone, even
// by a mere delay. It requests a report for the next time that the shard is empty.
func (s *Set[T]) checkEmpty(sh *shard[T]) (isEmpty bool, count uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.owes |= owed(emptyNow)
	return sh.isEmpty(), sh.count.added + sh.rare.canceled + sh.rare.dropped
}
