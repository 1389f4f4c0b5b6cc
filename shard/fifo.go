package shard

// A fifo is an order of entries, such as that in which a shard's items became
// ready. It is a list linked through the entries themselves, so that joining
// and leaving it allocate nothing and copy nothing. An entry is in at most one
// list.
type fifo struct {
	// The previous link of the head is not kept, nor is the tail of an empty
	// list.
	head, tail uint32
	length     int32
}

// join puts an entry at the tail of a list.
func (s *slab[T]) join(f *fifo, id uint32, e *entry[T]) {
	e.next = 0
	if f.head == 0 {
		f.head = id
	} else {
		s.at(f.tail).next = id
		e.setPrevious(f.tail)
	}
	f.tail = id
	f.length++
}

// joinFirst puts an entry at the head of a list.
func (s *slab[T]) joinFirst(f *fifo, id uint32, e *entry[T]) {
	e.next = f.head
	if f.head == 0 {
		f.tail = id
	} else {
		s.at(f.head).setPrevious(id)
	}
	f.head = id
	f.length++
}

// unlink takes an entry out of its list, from any place.
func (s *slab[T]) unlink(f *fifo, id uint32, e *entry[T]) {
	f.length--
	next, previous := e.next, e.previous()
	if id == f.head {
		f.head = next
		return
	}
	s.at(previous).next = next
	if id == f.tail {
		f.tail = previous
		return
	}
	s.at(next).setPrevious(previous)
}

// walk visits the entries of a list until visit returns false. It reports
// whether it visited all.
func (s *slab[T]) walk(f *fifo, visit func(id uint32) bool) (on bool) {
	for id := f.head; id != 0; id = s.at(id).next {
		if !visit(id) {
			return false
		}
	}
	return true
}
