package shard

import (
	"context"
	"errors"

	"github.com/shardq/shardq/internal/itemlimit"
)

// ErrFull is what [Set.TryAdd] returns when there is no room for another item.
var ErrFull = errors.New("shardq: queue is full")

// ErrRejected is what [Set.TryAdd] and [Set.AddContext] return for an item that is not
// equal to itself.
var ErrRejected = errors.New("shardq: item is not equal to itself")

// TryAdd is Add if there is room: it returns [ErrFull] if the item is not held yet, and
// the queue holds as many as its capacity already, or others wait for room. After a
// shutdown began it drops the item and returns [ErrShutDown].
func (s *Set[T]) TryAdd(item T) error {
	if s.mayDiffer && s.Reject(item) {
		return ErrRejected
	}
	sh, to := s.addressOf(item)
	err := s.admit(sh, item, to, false)
	s.limit.Notify()
	return err
}

// AddContext is TryAdd that waits for room for as long as ctx lasts, in the order of the
// calls.
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
	s.limit.Notify()
	if waited && err == nil && s.groupWeight != nil {
		// The weight may have changed. The item is added before, so that the next
		// waiter does not wait for the user's code.
		sh.weighAgain(item, to.hash, s.weightOf(to.group))
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

// weighAgain changes the weight of the group of an item, if the item is still there.
// It takes the lock.
func (sh *shard[T]) weighAgain(item T, hash uint32, weight int32) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if id := sh.find(item, hash); id != 0 {
		sh.groups.weigh(sh.groups.at(sh.groupOf(id)), weight)
	}
}

// admit adds an item, if the limiter allows or acquired is true. The caller
// must call Notify afterwards.
func (s *Set[T]) admit(sh *shard[T], item T, to address, acquired bool) error {
	if !acquired {
		s.refresh() // otherwise addAcquired has, where it can release the weight if the clock panics
	}
	sh.mu.Lock()
	fx, err := sh.admitItem(item, to, acquired)
	sh.mu.Unlock()
	s.publish(fx) // without the hook, which the caller calls after the next waiter is granted
	return err
}

// admitItem is admit for an item of the shard.
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
			limit.Release(1) // the item was added meanwhile, which acquired its weight
		}
		if sh.groups != nil {
			sh.weighAdded(id, &to.tag)
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
