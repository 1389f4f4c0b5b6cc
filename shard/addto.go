package shard

// An Address is where an item belongs. With an Address, the item can be added
// without calling user code, which might panic before the item is added.
type Address struct {
	shard uint16
	to    address
}

// SetAddress sets a to the address of an item. It calls the user's hash and
// group functions, and changes nothing else.
func (s *Set[T]) SetAddress(a *Address, item T) { a.shard = s.addressOf(item, &a.to).number }

// AddTo adds item as [Set.Add] does, at a known address. If the item is
// delayed, AddTo keeps its delay if keepDelay is true, and cancels it
// otherwise, whatever CancelDelayOnAdd is. If the clock or a hook panics, the
// item is added nevertheless.
func (s *Set[T]) AddTo(item T, a *Address, keepDelay bool) {
	defer s.addTo(item, a, keepDelay)
	s.refresh()
}

// FileTo is [Set.AddWith] at a known address. If the clock or a hook panics,
// and the item is not delayed by then, it is added at once.
func (s *Set[T]) FileTo(item T, a *Address, d Delay) {
	filed := false
	defer func() {
		if !filed {
			s.addTo(item, a, true)
		}
	}()
	s.fileIn(s.shard(int(a.shard)), item, a.to, d, nil)
	filed = true
}

func (s *Set[T]) addTo(item T, a *Address, keepDelay bool) {
	sh := s.shard(int(a.shard))
	sh.mu.Lock()
	fx := sh.addItem(item, &a.to, request{cancelsDelay: true, keepsDelay: keepDelay})
	sh.mu.Unlock()
	s.after(fx)
}
