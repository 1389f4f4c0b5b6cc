package shard

import (
	"context"
	"runtime"
)

// WaitIdle blocks until there is a moment at which the set holds nothing. If
// the function also is not nil, it must return true at that moment, too. It
// returns the error of ctx if that ends first.
//
// An item may move from shard to shard, so WaitIdle checks all twice. A shard
// that was empty both times, and has counted nothing, was empty all the time.
func (s *Core) WaitIdle(ctx context.Context, also func() bool) error {
	counts := make([]uint64, len(s.shards.all)) // 0 for shards that do not exist
	for {
		changed := s.drains.idled.released() // before the check, so that no later report is missed
		isIdle, again := s.checkIdle(counts, also)
		switch {
		case isIdle:
			return nil
		case again && ctx.Err() == nil:
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

// LookIdle lets the calls of WaitIdle check anew, after what also looks at has changed.
func (s *Core) LookIdle() { s.drains.idled.release() }

// checkIdle returns again if something came and went during the check.
func (s *Core) checkIdle(counts []uint64, also func() bool) (isIdle, again bool) {
	clear(counts)
	for sh := range s.shards.made() {
		empty, count := sh.checkEmpty()
		if !empty {
			return false, false
		}
		counts[sh.number] = count
	}
	if also != nil && !also() {
		return false, false
	}
	for sh := range s.shards.made() {
		if empty, count := sh.checkEmpty(); !empty || count != counts[sh.number] {
			return false, true
		}
	}
	return true, false
}

// checkEmpty requests a report for the next time that the shard is empty.
func (sh *shard) checkEmpty() (isEmpty bool, count uint64) {
	sh.lock()
	defer sh.unlock()
	sh.owes |= owed(emptyNow)
	return sh.isEmpty(), sh.count.added + sh.rare.canceled + sh.rare.dropped
}
