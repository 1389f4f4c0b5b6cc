package shard

// An Address lets an item be added without calling user code.
type Address struct {
	shard uint16
	to    address
}

// SetAddress sets a to the address of an item. It may call user code.
func (s *Set[T]) SetAddress(a *Address, item T) { a.shard = s.addressOf(item, &a.to).number }

// Mark returns the [Handle.Mark] of the processing in which the last AddTo or
// FileTo has found the item, or 0.
func (a *Address) Mark() uint8 { return a.to.mark }

// AddTo is [Set.Add] at a known address.
func (s *Set[T]) AddTo(item T, a *Address, keepDelay bool) {
	readOr(s.Core.refresh, func() { s.addTo(item, a, keepDelay) })
	s.addTo(item, a, keepDelay)
}

// FileTo is [Set.AddWith] at a known address.
func (s *Set[T]) FileTo(item T, a *Address, d Delay) {
	file := func() { s.fileIn(s.Core.shard(int(a.shard)), item, &a.to, d, nil) }
	readOr(file, func() { s.addTo(item, a, true) })
	s.Core.notify()
}

func (s *Set[T]) addTo(item T, a *Address, keepDelay bool) {
	sh := s.Core.shard(int(a.shard))
	sh.lock()
	fx := s.addMarked(sh, item, &a.to, request{cancelsDelay: true, keepsDelay: keepDelay})
	sh.unlock()
	s.Core.after(fx)
}

// addMarked is addItem that sets the mark. It looks the item up again, because
// nearly all adds make their item ready.
func (s *Set[T]) addMarked(sh *shard, item T, to *address, r request) effects {
	to.mark = 0
	fx := s.addItem(sh, item, to, r)
	if fx&wakes == 0 {
		s.mark(sh, item, to)
	}
	return fx
}

func (s *Set[T]) mark(sh *shard, item T, to *address) {
	if id := s.find(sh, item, to.hash); id != 0 {
		to.mark = markOfEntry(sh.table.At(id))
	}
}

// Crowded returns an error if an add of another item to the item's shard may be
// refused for want of ids. It may call the user's functions.
func (s *Set[T]) Crowded(item T) error {
	if !s.Core.ids.crowded.Load() {
		return nil
	}
	var to address
	sh := s.addressOf(item, &to)
	sh.lock()
	defer sh.unlock()
	if sh.table != nil && uint32(sh.table.Live) >= s.Core.ids.most-reserve(s.Core.ids.most)-1 {
		return errTooMany
	}
	return nil
}
