package shard

// An Address is where an item belongs. With it, the item can be added without any
// code of the user's that might panic before it is in.
type Address struct {
	shard uint16
	to    address
}

// AddressOf returns the address of an item. It calls the user's functions, and
// changes nothing.
func (s *Set[T]) AddressOf(item T) Address {
	sh, to := s.addressOf(item)
	return Address{sh.number, to}
}

// AddTo is [Set.Add] of an item whose address is known, whatever
// CancelDelayOnAdd says: if the item waits, it goes on waiting if waitOn is set,
// and otherwise its delay is canceled. If the clock or a hook panics, the item is
// added all the same.
func (s *Set[T]) AddTo(item T, a Address, waitOn bool) {
	defer s.addTo(item, a, waitOn)
	s.refresh()
}

func (s *Set[T]) addTo(item T, a Address, waitOn bool) {
	sh := s.shard(int(a.shard))
	sh.mu.Lock()
	fx := sh.addItem(item, &a.to, request{endsDelay: true, waitsOn: waitOn})
	sh.mu.Unlock()
	s.after(fx)
}
