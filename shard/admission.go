package shard

import (
	"context"
	"time"

	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard/internal/items"
)

// A nil admission, that of most adds, only obeys a shutdown: a zero one costs a
// tenth of an AddAfter.
type admission struct {
	limited  bool          // by the capacity
	acquired bool          // the limiter has granted a weight
	settled  bool          // a shard has decided, and has used or released the weight
	window   time.Duration // that the add opens, from at to the tick ends
	at       reading
	ends     uint64
	id       uint32 // of the item's entry, if the add is limited and admitted
	err      error  // why the add was refused
}

func (s *Set[T]) offerItem(item T, to *address, d *Delay, a *admission) (sh *shard, err error) {
	if s.mayDiffer && s.Reject(item) {
		return nil, ErrRejected
	}
	sh = s.addressOf(item, to)
	return sh, s.offer(sh, item, to, d, a)
}

// offer adds an item, unless it is refused. The caller must call notify. It gets
// pointers, because copies of both structs cost a seventh of a TryAdd.
func (s *Set[T]) offer(sh *shard, item T, to *address, d *Delay, a *admission) error {
	if d.Window > 0 {
		s.Core.needWindows()
	}
	if d.files() {
		s.fileIn(sh, item, to, *d, a)
	} else {
		s.addAdmitted(sh, item, to, d, a)
	}
	if a.err == nil && s.Core.measures != nil {
		s.countRetryOf(item, *d)
	}
	return a.err
}

func (s *Set[T]) addAdmitted(sh *shard, item T, to *address, d *Delay, a *admission) {
	s.Core.refresh()
	if d.Window > 0 {
		a.beginWindow(&s.Core.time, s.Core.driver.taken(s.Core.time.Nanoseconds()), d.Window)
	}
	sh.lock()
	fx := effects(0)
	if s.admits(sh, a, item, to) {
		id, e := s.entryOf(sh, a, item, to)
		fx = sh.add(id, e, s.Core.config.request(d.Priority))
	}
	sh.unlock()
	s.Core.publish(fx)
	a.watch(&s.Core.driver)
}

// admits must be followed by entryOf in the same hold, if it returns true.
func (s *Set[T]) admits(sh *shard, a *admission, item T, to *address) bool {
	switch {
	case sh.set.closing.refusing.Load():
		if a.limited || !s.takesBack(sh, item, to.hash) {
			sh.refuse(a)
		}
	case s.inWindow(sh, a, item, to.hash):
		sh.count.deduplicated++
		sh.refuseFor(a, ErrNotAgain)
	case a.limited:
		s.reserve(sh, a, item, to)
	}
	a.settled = true
	return a.err == nil
}

func (sh *shard) refuse(a *admission) {
	sh.rare.dropped++
	if a != nil {
		sh.refuseFor(a, ErrShutDown)
	}
}

func (sh *shard) refuseFor(a *admission, err error) {
	sh.release(a)
	a.err, a.settled = err, true
}

func (sh *shard) release(a *admission) {
	if a.acquired {
		sh.set.limit.Release(1)
		a.acquired = false
	}
}

func (s *Set[T]) reserve(sh *shard, a *admission, item T, to *address) {
	sh.needTable()
	id, p := items.Find(&sh.table.Table, to.hash, item)
	switch {
	case id != 0:
		sh.release(a) // another add has acquired it
		sh.configure(id, to)
		a.id = id
		return
	case sh.table.IsFull() && !sh.hasID():
		sh.refuseFor(a, errTooMany)
		return
	case !a.acquired && !sh.set.limit.TryAcquire(1):
		sh.refuseFor(a, ErrFull)
		return
	}
	a.id, _ = items.Insert(&sh.table.Table, p, item)
	sh.join(a.id, to)
}

func (s *Set[T]) entryOf(sh *shard, a *admission, item T, to *address) (id uint32, e *items.Entry) {
	if a == nil {
		return s.entryFor(sh, item, to)
	}
	if id = a.id; id == 0 {
		id, e = s.entryFor(sh, item, to)
	} else {
		e = sh.table.At(id)
	}
	s.openWindow(sh, a, item, to.hash)
	return id, e
}

// TryAdd adds item as [Set.AddWith] does, or returns [ErrFull], [ErrNotAgain]
// or [ErrShutDown]. It is full also while others wait for room.
func (s *Set[T]) TryAdd(item T, d Delay) error {
	var to address
	_, err := s.offerItem(item, &to, &d, &admission{limited: true})
	s.Core.notify()
	return err
}

type handlerOf struct{ set any }

// HandlerContext returns a context for handlers of the set's items. They must
// not wait for room, because the items that they have take it.
func (s *Core) HandlerContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, handlerOf{s}, true)
}

// InHandler reports whether ctx derives from a [Set.HandlerContext].
func (s *Core) InHandler(ctx context.Context) bool { return ctx.Value(handlerOf{s}) != nil }

// AddContext is [Set.TryAdd] that waits for room while ctx lasts, in order. In
// a handler, it adds beyond the capacity instead.
func (s *Set[T]) AddContext(ctx context.Context, item T, d Delay) error {
	var to address
	sh, err := s.offerItem(item, &to, &d, &admission{limited: true})
	waited := err == ErrFull
	if waited && s.Core.InHandler(ctx) {
		waited, err = false, s.offer(sh, item, &to, &d, &admission{})
	}
	if waited {
		if err = s.Core.limit.Acquire(ctx, 1); err == nil {
			err = s.offerAcquired(sh, item, &to, &d)
		} else if err == itemlimit.ErrClosed {
			err = ErrShutDown
		}
	}
	s.Core.notify()
	if waited && err == nil && s.Core.config.GroupPolicy != nil {
		// The group's policy may have changed during the wait. The item was added
		// first, so that the next waiter does not wait for user code. Its old
		// policy may have throttled the group.
		s.Core.tag(&to.Tag, to.Group)
		s.configureNow(sh, item, &to)
	}
	return err
}

func (s *Set[T]) configureNow(sh *shard, item T, to *address) {
	sh.lock()
	id, freed := s.find(sh, item, to.hash), false
	if id != 0 {
		sh.line.Configure(id, &to.Tag)
		freed = sh.line.Reconsider(id)
		sh.show()
	}
	sh.unlock()
	if freed {
		s.Core.wake()
	}
}

// offerAcquired offers an item whose weight is granted, and lets the limiter
// grant the next before notify, whose hook may acquire itself.
func (s *Set[T]) offerAcquired(sh *shard, item T, to *address, d *Delay) error {
	a := admission{limited: true, acquired: true}
	defer func() {
		if !a.settled { // the clock has panicked
			s.Core.limit.Release(1)
		}
		s.Core.limit.FinishAcquire()
	}()
	return s.offer(sh, item, to, d, &a)
}
