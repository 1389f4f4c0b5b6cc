package shard

import "github.com/shardq/shardq/shard/internal/items"

// An Address has the shard and the hash of an item, to add it without user
// code.
type Address struct {
	shard uint16
	to    address
}

// SetAddress sets a to the address of an item. It may call user code.
func (s *Set[T]) SetAddress(a *Address, item T) { a.shard = s.addressOf(item, &a.to).number }

// Mark returns the [Handle.Mark] of the processing that was under way when the
// last AddTo or FileTo added the item, or 0 if there was none.
func (a *Address) Mark() uint8 { return a.to.mark }

// AddTo is [Set.Add] at a known address, with a priority.
func (s *Set[T]) AddTo(item T, a *Address, priority int, keepDelay bool) {
	s.Core.shard(int(a.shard)).addTo(items.KeyOf(&item), &a.to, request{priority: priority, cancelsDelay: true, keepsDelay: keepDelay})
}

// FileTo is [Set.AddWith] at a known address.
func (s *Set[T]) FileTo(item T, a *Address, d Delay) {
	s.Core.shard(int(a.shard)).fileTo(items.KeyOf(&item), &a.to, d)
}

func (sh *shard) addTo(key items.Key, to *address, r request) {
	add := func() { sh.addNow(key, to, r) }
	readOr(sh.set.refresh, add)
	add()
}

func (sh *shard) fileTo(key items.Key, to *address, d Delay) {
	file := func() { sh.fileIn(key, to, d, nil) }
	// The panic may come after the filing, from the timer. Then the delay stays.
	keeps := d.Duration > 0 || d.Policy == KeepOld || d.Policy == KeepLatest
	readOr(file, func() { sh.addNow(key, to, request{priority: d.Priority, cancelsDelay: true, keepsDelay: keeps}) })
	sh.set.notify()
}

func (sh *shard) addNow(key items.Key, to *address, r request) {
	if !sh.tryLock() {
		sh.lockToAdd()
	}
	fx := sh.addMarked(key, to, r)
	sh.unlock()
	sh.set.after(fx)
}

// addMarked is addItem, and sets the mark. For that it looks the item up a
// second time, but only if the add made nothing ready, which is rare.
func (sh *shard) addMarked(key items.Key, to *address, r request) effects {
	to.mark = 0
	fx := sh.addItem(key, to, r)
	if fx&wakes == 0 {
		sh.mark(key, to)
	}
	return fx
}

func (sh *shard) mark(key items.Key, to *address) {
	if id := sh.find(key, to.hash); id != 0 {
		to.mark = markOfEntry(sh.table.At(id))
	}
}

// Crowded returns an error if the item's shard may soon have no id for another
// item. It may call user code.
func (s *Set[T]) Crowded(item T) error {
	if !s.Core.ids.crowded.Load() {
		return nil
	}
	var to address
	return s.addressOf(item, &to).crowded()
}

func (sh *shard) crowded() error {
	sh.lock()
	defer sh.unlock()
	if most := sh.set.ids.most; sh.table != nil && uint32(sh.table.Live) >= most-reserve(most)-1 {
		return errTooMany
	}
	return nil
}
