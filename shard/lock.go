package shard

import "sync"

// A shard's lock is a [sync.Mutex]: only the runtime knows whether a processor
// is idle, so that spinning takes time from nobody.
//
// Everybody meets at the lock of a single shard. With more goroutines than
// processors, a sync.Mutex then passes from one waiter to the next, and each hold
// costs a switch of goroutines: a convoy. So the waiters of a single shard queue
// for a second mutex, the door. Only the one that has it waits for the shard,
// while those that run go on to lock it. A sync.Mutex hands itself over once a
// waiter has waited for a millisecond, and goes on so while there are waiters. Here
// that ends with the first. The price: while all others never stop, a caller waits
// for some milliseconds for each waiter in front. So producers have a door of their
// own: a few of them do not wait behind hundreds of workers.

// lock locks the shard. Locks are leaves: a holder takes no other and calls no
// user code. The door comes before.
func (sh *shard) lock() {
	if !sh.tryLock() {
		sh.lockSlowly()
	}
}

// lockSlowly follows a tryLock that has failed. Hot paths call both, because the
// compiler does not inline lock.
func (sh *shard) lockSlowly() { sh.lockBehind(sh.set.door) }

// lockToAdd is lockSlowly of a producer.
func (sh *shard) lockToAdd() { sh.lockBehind(sh.set.producersDoor) }

func (sh *shard) lockBehind(door *sync.Mutex) {
	if door != nil {
		door.Lock()
		defer door.Unlock()
	}
	sh.mu.Lock()
}

func (sh *shard) tryLock() bool { return sh.mu.TryLock() }
func (sh *shard) unlock()       { sh.mu.Unlock() }
