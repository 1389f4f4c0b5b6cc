package shard

import (
	"context"
	"errors"

	"github.com/shardq/shardq/internal/room"
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
	s.room.Look()
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
		if err = s.room.Wait(ctx, 1); err == nil {
			err = s.enter(sh, item, to)
		} else if err == room.ErrClosed {
			err = ErrShutDown
		}
	}
	s.room.Look()
	if waited && err == nil && s.groupWeight != nil {
		// It may be another one by now. Whoever is next in the line is not to wait
		// for the user's code, so the item is in before.
		sh.weighAgain(item, to.hash, s.weightOf(to.group))
	}
	return err
}

// enter adds an item for which there is room, and lets the next in the line come: before
// anybody looks at the level, whose hook may ask for room itself.
func (s *Set[T]) enter(sh *shard[T], item T, to address) error {
	entered := false
	defer func() {
		if !entered { // the clock has panicked
			s.room.Leave(1)
		}
		s.room.Arrive()
	}()
	s.refresh()
	entered = true
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

// admit adds an item for which there may be room, or is for sure. A look at the room is to
// follow.
func (s *Set[T]) admit(sh *shard[T], item T, to address, hasRoom bool) error {
	if !hasRoom {
		s.refresh() // otherwise the caller has done so, while it could give the room back
	}
	sh.mu.Lock()
	fx, err := sh.admitItem(item, to, hasRoom)
	sh.mu.Unlock()
	s.publish(fx) // the hook is for the caller to call, when the next in the line is let in
	return err
}

// admitItem is admit of an item of the shard.
func (sh *shard[T]) admitItem(item T, to address, hasRoom bool) (fx effects, err error) {
	room := sh.set.room
	if sh.set.closing.refusing.Load() {
		sh.rare.dropped++
		if hasRoom {
			room.Leave(1)
		}
		return fx, ErrShutDown
	}
	sh.needTable()
	id, p := sh.table.find(to.hash, item)
	switch {
	case id != 0:
		if hasRoom {
			room.Leave(1) // the item was added meanwhile, and has its own
		}
		if sh.groups != nil {
			sh.weighAdded(id, &to.tag)
		}
		return sh.add(id, sh.table.at(id), sh.set.request()), nil
	case sh.table.roomy == 0 && !sh.hasID():
		if hasRoom {
			room.Leave(1)
		}
		return fx, errTooMany
	case !hasRoom && !room.TryEnter(1):
		return fx, ErrFull
	}
	id, e := sh.table.insert(p, item)
	if sh.set.group != nil {
		sh.joinGroup(id, &to.tag)
	}
	return sh.add(id, e, sh.set.request()), nil
}
