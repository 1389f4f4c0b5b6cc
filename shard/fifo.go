package shard

// fifo is the order in which a shard's items became ready: a list linked through
// the entries themselves, so that joining and leaving it allocate nothing and copy
// nothing.
type fifo struct {
	head, tail uint32
	length     int32
}

// push puts an entry at the tail of the FIFO.
func (sh *shard[T]) push(id uint32, e *entry[T]) {
	e.next = 0
	if sh.fifo.head == 0 {
		sh.fifo.head = id
		sh.set.markReady(sh.number)
	} else {
		sh.table.at(sh.fifo.tail).next = id
	}
	sh.fifo.tail = id
	sh.fifo.length++
}

// pop takes the entry at the head of the FIFO, or returns id 0 if there is none.
func (sh *shard[T]) pop() (id uint32, e *entry[T]) {
	id = sh.fifo.head
	if id == 0 {
		return 0, nil
	}
	e = sh.table.at(id)
	sh.fifo.head, e.next = e.next, 0
	sh.fifo.length--
	if sh.fifo.head == 0 {
		sh.set.markEmpty(sh.number)
	}
	return id, e
}
