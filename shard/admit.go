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

// TryAdd adds item as [Set.Add] does, if there is room. It returns [ErrFull] if
// the set does not hold the item yet, and is at its capacity or has waiters for
// room. After a shutdown began, it drops the item and returns [ErrShutDown].
func (s *Set[T]) TryAdd(item T) error {
	if s.mayDiffer && s.Reject(item) {
		return ErrRejected
	}
	sh, to := s.addressOf(item)
	err := s.admit(sh, item, to, false)
	s.notify()
	return err
}

// AddContext adds item as [Set.TryAdd] does, but waits for room while ctx
// lasts. Waiters are served in the order of their calls. It returns the error
// of ctx if ctx ends first.
func (s *Set[T]) AddContext(ctx context.Context, item T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.mayDiffer && s.Reject(item) {
		return ErrRejected
	}
	sh, to := s.addressOf(item)
	err := s.admit(sh, item, to, false)
	waited := err == ErrFull
	if waited {
		if err = s.limit.Acquire(ctx, 1); err == nil {
			err = s.addAcquired(sh, item, to)
		} else if err == itemlimit.ErrClosed {
			err = ErrShutDown
		}
	}
	s.notify()
	if waited && err == nil && s.asksOfGroups() {
		// What the user says of the group may have changed during the wait. The
		// item is added first, so that the next waiter does not wait for user
		// code.
		s.configureAgain(sh, item, to.hash, s.tagOf(to.group))
	}
	return err
}

// addAcquired adds an item for which the limiter has granted a weight, and lets
// the limiter grant the next waiter. It does so before the caller calls Notify,
// whose hook may acquire itself.
func (s *Set[T]) addAcquired(sh *shard[T], item T, to address) error {
	refreshed := false
	defer func() {
		if !refreshed { // the clock has panicked
			s.limit.Release(1)
		}
		s.limit.FinishAcquire()
	}()
	s.refresh()
	refreshed = true
	return s.admit(sh, item, to, true)
}

// configureAgain takes what the user says of an item's group, if the shard
// still holds the item.
func (s *Set[T]) configureAgain(sh *shard[T], item T, hash uint32, to tag) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if id := sh.find(item, hash); id != 0 {
		sh.configureAdded(id, &to)
	}
}

// admit adds an item, if the limiter allows or acquired is true. The caller
// must call Notify afterwards.
func (s *Set[T]) admit(sh *shard[T], item T, to address, acquired bool) error {
	if !acquired {
		s.refresh() // addAcquired does so where it can still release the weight
	}
	sh.mu.Lock()
	fx, err := sh.admitItem(item, to, acquired)
	sh.mu.Unlock()
	s.publish(fx) // without the hook: the caller calls Notify
	return err
}

// admitItem adds an item of the shard as admit does.
func (sh *shard[T]) admitItem(item T, to address, acquired bool) (fx effects, err error) {
	limit := sh.set.limit
	if sh.set.closing.refusing.Load() {
		sh.rare.dropped++
		if acquired {
			limit.Release(1)
		}
		return fx, ErrShutDown
	}
	sh.needTable()
	id, p := sh.table.find(to.hash, item)
	switch {
	case id != 0:
		if acquired {
			limit.Release(1) // another add has acquired it
		}
		if sh.groups != nil {
			sh.configureAdded(id, &to.tag)
		}
		return sh.add(id, sh.table.at(id), sh.set.request()), nil
	case sh.table.roomy == 0 && !sh.hasID():
		if acquired {
			limit.Release(1)
		}
		return fx, errTooMany
	case !acquired && !limit.TryAcquire(1):
		return fx, ErrFull
	}
	id, e := sh.table.insert(p, item)
	if sh.set.group != nil {
		sh.joinGroup(id, &to.tag)
	}
	return sh.add(id, e, sh.set.request()), nil
}
