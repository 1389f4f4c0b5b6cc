package shard

import (
	"context"
	"time"

	"github.com/shardq/shardq/internal/itemlimit"
	"github.com/shardq/shardq/shard/internal/items"
)

// An admission belongs to an add that the capacity or a window may refuse. Most
// adds have none (nil), and only a shutdown refuses them: an empty admission
// would cost a tenth of an AddAfter.
type admission struct {
	limited  bool          // by the capacity
	acquired bool          // the limiter has granted room
	settled  bool          // a shard has decided, and has used or released the room
	window   time.Duration // the window that the add opens: it begins at the reading at, and closes at the tick ends
	at       reading
	ends     uint64
	id       uint32 // of the item's entry, if the add is limited and admitted
	err      error  // why the add was refused
}

// offer adds an item, or returns why not. The caller must call notify. The
// structs are pointers, because copies of both cost a seventh of a TryAdd.
func (sh *shard) offer(key items.Key, to *address, d *Delay, a *admission) error {
	if d.Window > 0 {
		sh.set.needWindows()
	}
	if d.files() {
		sh.fileIn(key, to, *d, a)
	} else {
		sh.addAdmitted(key, to, d, a)
	}
	if a.err == nil && d.Retry {
		sh.set.countRetry()
	}
	return a.err
}

func (sh *shard) addAdmitted(key items.Key, to *address, d *Delay, a *admission) {
	sh.set.refresh()
	if d.Window > 0 {
		a.beginWindow(&sh.set.time, sh.set.driver.taken(sh.set.time.Nanoseconds()), d.Window)
	}
	sh.lock()
	fx := effects(0)
	if sh.admits(a, key, to) {
		id, e := sh.entryOf(a, key, to)
		fx = sh.add(id, e, sh.set.config.request(d.Priority))
	}
	sh.unlock()
	sh.set.publish(fx)
	a.watch(&sh.set.driver)
}

// admits reports whether an add is accepted. If so, the caller must call
// entryOf in the same hold of the lock.
func (sh *shard) admits(a *admission, key items.Key, to *address) bool {
	switch {
	case sh.set.closing.refusing.Load():
		if a.limited || !sh.takesBack(key, to.hash) {
			sh.refuse(a)
		}
	case sh.inWindow(a, key, to.hash):
		sh.count.deduplicated++
		sh.refuseFor(a, ErrNotAgain)
	case a.limited:
		sh.reserve(a, key, to)
	}
	a.settled = true
	return a.err == nil
}

func (sh *shard) refuse(a *admission) {
	if a == nil || !a.limited {
		sh.dropAdd()
	} else {
		sh.rare.dropped++
	}
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

func (sh *shard) reserve(a *admission, key items.Key, to *address) {
	sh.needTable()
	id, p := sh.table.Find(to.hash, key)
	switch {
	case id != 0:
		sh.release(a) // another add has brought the item in, with room of its own
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
	a.id, _ = sh.table.Insert(p, key)
	sh.join(a.id, to)
}

func (sh *shard) entryOf(a *admission, key items.Key, to *address) (id uint32, e *items.Entry) {
	if a == nil {
		return sh.entryFor(key, to)
	}
	if id = a.id; id == 0 {
		id, e = sh.entryFor(key, to)
	} else {
		e = sh.table.At(id)
	}
	sh.openWindow(a, key, to.hash)
	return id, e
}

// TryAdd adds item as [Set.AddWith] does, or returns [ErrFull], [ErrNotAgain]
// or [ErrShutDown]. The set is also full while callers wait in
// [Set.AddContext].
func (s *Set[T]) TryAdd(item T, d Delay) error { return s.addIn(item, &d, &admission{limited: true}) }

func (s *Set[T]) addIn(item T, d *Delay, a *admission) error {
	if s.Core.items.MayDiffer && s.Reject(item) {
		return ErrRejected
	}
	var to address
	defer s.Core.notify() // also if the clock panics with the item in place
	return s.addressFor(item, &to, d).offer(items.KeyOf(&item), &to, d, a)
}

type handlerOf struct{ set any }

// HandlerContext returns a context for the handlers of the set's items. With
// it, [Set.AddContext] does not wait for room: the handler's own item takes
// room until the handler returns, so it might wait for itself.
func (s *Core) HandlerContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, handlerOf{s}, true)
}

// InHandler reports whether ctx derives from a [Core.HandlerContext].
func (s *Core) InHandler(ctx context.Context) bool { return ctx.Value(handlerOf{s}) != nil }

// AddContext is [Set.TryAdd], but waits for room until ctx ends. Callers get
// room in the order of their calls. With the context of a handler, AddContext
// does not wait, and adds the item even beyond the capacity.
func (s *Set[T]) AddContext(ctx context.Context, item T, d Delay) error {
	if s.Core.items.MayDiffer && s.Reject(item) {
		return ErrRejected
	}
	var to address
	return s.addressFor(item, &to, &d).offerContext(ctx, items.KeyOf(&item), &to, &d)
}

func (sh *shard) offerContext(ctx context.Context, key items.Key, to *address, d *Delay) error {
	err := sh.offer(key, to, d, &admission{limited: true})
	waited := err == ErrFull
	if waited && sh.set.InHandler(ctx) {
		waited, err = false, sh.offer(key, to, d, &admission{})
	}
	if waited {
		if err = sh.set.limit.Acquire(ctx, 1); err == nil {
			err = sh.offerAcquired(key, to, d)
		} else if err == itemlimit.ErrClosed {
			err = ErrShutDown
		}
	}
	sh.set.notify()
	if waited && err == nil && sh.set.config.GroupPolicy != nil {
		// The group's policy may have changed during the wait. The item was added
		// first, so that the next waiter does not wait for user code.
		sh.set.refreshGroup(to.Group)
	}
	return err
}

// offerAcquired offers an item that the limiter has granted room. The limiter
// serves the next waiter before notify, whose hook may ask for room itself.
func (sh *shard) offerAcquired(key items.Key, to *address, d *Delay) error {
	a := admission{limited: true, acquired: true}
	defer func() {
		if !a.settled { // the clock has panicked
			sh.set.limit.Release(1)
		}
		sh.set.limit.FinishAcquire()
	}()
	return sh.offer(key, to, d, &a)
}
