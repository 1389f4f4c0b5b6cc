package shard

// fifo is an order of entries, such as that in which a shard's items became ready: a
// list linked through the entries themselves, so that joining and leaving it allocate
// nothing and copy nothing. An entry is in one list at most.
type fifo struct {
	// The previous of the head is not kept, nor is the tail of an empty list.
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

// part takes an entry out of the list that it is in, from any place.
func (s *slab[T]) part(f *fifo, id uint32, e *entry[T]) {
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

// push puts an entry that became ready at the tail of the shard's FIFO, or of its level.
func (sh *shard[T]) push(id uint32, e *entry[T]) {
	sh.stamp(id)
	if l := sh.levels; l != nil {
		sh.file(l.of(sh.table.wishes.run(id)), id, e)
		return
	}
	if sh.fifo.head == 0 {
		if sh.groups == nil { // here, for becameReady is not inlined
			sh.set.markReady(sh.number)
		} else {
			sh.becameReady()
		}
	}
	sh.table.join(&sh.fifo, id, e)
}

// pull takes an entry out of the FIFO, or of its level.
func (sh *shard[T]) pull(id uint32, e *entry[T]) {
	if l := sh.levels; l != nil {
		sh.leave(l.of(sh.table.wishes.run(id)), id, e)
		return
	}
	sh.table.part(&sh.fifo, id, e)
	if sh.fifo.head == 0 {
		sh.becameEmpty()
	}
}
