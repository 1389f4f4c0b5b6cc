package shard

import (
	"context"
	"errors"

	"github.com/shardq/shardq/internal/itemlimit"
)

// ErrFull is the error of [Set.TryAdd] when there is no room for another item.
var ErrFull = errors.New("shardq: queue is full")

// ErrRejected is the error of [Set.TryAdd] and [Set.AddContext] for an item
// that is not equal to itself.
var ErrRejected = errors.New("shardq: item is not equal to itself")

// TryAdd adds item as [Set.AddWith] does, if there is room. It returns
// [ErrFull] if the set does not hold the item yet, and is at its capacity or
// has waiters for room. After a shutdown began, it drops the item and returns
// [ErrShutDown]. It returns [ErrNotAgain] if the item's window is open.
func (s *Set[T]) TryAdd(item T, d Delay) error {
	if s.mayDiffer && s.Reject(item) {
		return ErrRejected
	}
	var to address
	sh := s.addressOf(item, &to)
	a := admission{limited: true}
	err := s.offer(sh, item, to, d, &a)
	s.notify()
	return err
}

// AddContext adds item as [Set.TryAdd] does, but waits for room while ctx
// lasts. Waiters are served in the order of their calls. The delay begins when
// there is room. It returns the error of ctx if ctx ends first.
func (s *Set[T]) AddContext(ctx context.Context, item T, d Delay) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.mayDiffer && s.Reject(item) {
		return ErrRejected
	}
	var to address
	sh := s.addressOf(item, &to)
	a := admission{limited: true}
	err := s.offer(sh, item, to, d, &a)
	waited := err == ErrFull
	if waited {
		if err = s.limit.Acquire(ctx, 1); err == nil {
			err = s.offerAcquired(sh, item, to, d)
		} else if err == itemlimit.ErrClosed {
			err = ErrShutDown
		}
	}
	s.notify()
	if waited && err == nil && s.config.GroupPolicy != nil {
		// What the user says of the group may have changed during the wait. The
		// item is added first, so that the next waiter does not wait for user
		// code.
		s.tag(&to.tag, to.group)
		s.configureAgain(sh, item, &to)
	}
	return err
}

// offerAcquired offers an item for which the limiter has granted a weight, and
// lets the limiter grant the next waiter. It does so before the caller calls
// Notify, whose hook may acquire itself.
func (s *Set[T]) offerAcquired(sh *shard[T], item T, to address, d Delay) error {
	a := admission{limited: true, acquired: true}
	defer func() {
		if !a.settled { // the clock has panicked
			s.limit.Release(1)
		}
		s.limit.FinishAcquire()
	}()
	return s.offer(sh, item, to, d, &a)
}

// configureAgain takes what the user says of an item's group, if the shard
// still holds the item.
func (s *Set[T]) configureAgain(sh *shard[T], item T, to *address) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if id := sh.find(item, to.hash); id != 0 {
		sh.configureAdded(id, &to.tag)
	}
}
