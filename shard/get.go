package shard

import "math/bits"

// Get returns the next ready item and takes it into processing: until its Done, no
// other Get returns it. It blocks while nothing is ready. After a shutdown it
// returns what is still ready, and otherwise the zero T and true, at once.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, ok := s.take(); ok {
		return item, false
	}
	return s.await()
}

// take hands out an item if one is ready.
func (s *Set[T]) take() (item T, ok bool) {
	for {
		sh := s.pick()
		if sh == nil {
			return item, false
		}
		if item, ok = sh.take(); ok {
			return item, true
		}
		// Another consumer emptied the shard between our look and its lock.
	}
}

func (sh *shard[T]) take() (item T, ok bool) {
	sh.mu.Lock()
	id, e := sh.pop()
	if id == 0 {
		sh.mu.Unlock()
		return item, false
	}
	e.step(taken)
	item = e.item
	sh.processing++
	sh.mu.Unlock()
	return item, true
}

// pick returns a shard with something ready, or nil if there was none. It starts at
// the shard whose turn it is: tickets go round, so that every shard has its turn
// once in as many Gets as there are shards, and an item at place p of its FIFO is
// handed out within p times that many. A start at random has no such bound, and
// starved shards for long stretches when it was tried.
func (s *Set[T]) pick() *shard[T] {
	start := s.ticket.Add(1) % uint32(len(s.shards))
	word := int(start / 64)
	ready := s.readyBits[word].Load() &^ (1<<(start%64) - 1)
	for range len(s.readyBits) {
		if ready != 0 {
			break
		}
		word++
		if word == len(s.readyBits) {
			word = 0
		}
		ready = s.readyBits[word].Load()
	}
	if ready == 0 {
		return nil
	}
	return &s.shards[word*64+bits.TrailingZeros64(ready)]
}

// anyReady reports whether any shard had something ready at some moment since it
// was called; if not, each shard was empty at some moment since then.
func (s *Set[T]) anyReady() bool {
	for i := range s.readyBits {
		if s.readyBits[i].Load() != 0 {
			return true
		}
	}
	return false
}

func (s *Set[T]) markReady(number uint32) { s.readyBits[number/64].Or(1 << (number % 64)) }
func (s *Set[T]) markEmpty(number uint32) { s.readyBits[number/64].And(^(uint64(1) << (number % 64))) }
