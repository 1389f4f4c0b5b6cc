package shard

// Again asks for one more run of an item in processing, and reports whether it is. Unlike
// an Add it does so also after a shutdown began: the item's Done is owed, so drains wait for
// it, and somebody is there to take what that makes ready.
func (s *Set[T]) Again(item T) (inProcessing bool) {
	hash := s.hash(item)
	return s.again(s.shardOf(item, hash), item, uint32(hash))
}

func (s *Set[T]) again(sh *shard[T], item T, hash uint32) (inProcessing bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	id, e := sh.inProcessing(item, hash)
	if id != 0 {
		sh.apply(id, e)
	}
	return id != 0
}
