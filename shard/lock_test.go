package shard

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/testscale"
)

// TestLockExcludesAndForgetsNobody: goroutines that lock and try the lock of a
// single shard, or of one of several, exclude one another, and all of them end.
func TestLockExcludesAndForgetsNobody(t *testing.T) {
	for _, shards := range []int{1, 2} {
		for _, goroutines := range []int{2, 8, 64} {
			t.Run(fmt.Sprintf("shards=%d/goroutines=%d", shards, goroutines), func(t *testing.T) {
				sh := newTestSet(t, Config[int]{Settings: Settings{Shards: shards}}).Core.shard(0)
				holds := 0 // the race detector sees two holders
				var done sync.WaitGroup
				each := testscale.N(100_000) / goroutines
				for g := range goroutines {
					done.Go(func() {
						for i := range each {
							if i%8 != 7 || !sh.tryLock() {
								sh.lock()
							}
							holds++
							pause(g+i, 1+i%64)
							sh.unlock()
						}
					})
				}
				done.Wait()
				require.Equal(t, each*goroutines, holds)
				require.True(t, sh.tryLock(), "free")
			})
		}
	}
}

// TestWaitersQueueAtTheDoor: those of a single shard do, and only the one that has
// the door waits for the shard.
func TestWaitersQueueAtTheDoor(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 1}})
	sh, entered := s.Core.shard(0), atomic.Bool{}
	sh.lock()
	s.Core.door.Lock()
	var done sync.WaitGroup
	done.Go(func() {
		sh.lock()
		entered.Store(true)
		sh.unlock()
	})
	for stacks := make([]byte, 1<<20); !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "lockSlowly"); {
		runtime.Gosched()
	}
	sh.unlock()
	for range 1000 {
		runtime.Gosched()
		require.False(t, entered.Load(), "somebody has gone past the door")
	}
	s.Core.door.Unlock()
	done.Wait()
	require.True(t, s.Core.door.TryLock(), "the last has left it")
	require.Nil(t, newTestSet(t, Config[int]{Settings: Settings{Shards: 2}}).Core.door)
}

// TestProducersHaveADoor of their own, so that they do not wait behind workers.
func TestProducersHaveADoor(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 1}})
	sh := s.Core.shard(0)
	for _, add := range []func(){
		func() { s.Add(1) }, func() { s.AddAfter(2, time.Hour) }, func() { s.AddWith(3, Delay{Priority: 1}) },
	} {
		s.Core.door.Lock()
		sh.lock()
		var done sync.WaitGroup
		done.Go(add)
		for stacks := make([]byte, 1<<20); !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "lockToAdd"); {
			runtime.Gosched()
		}
		sh.unlock()
		done.Wait()
		s.Core.door.Unlock()
	}
}

// TestOneWaiterHasTheDoor until it has the shard.
func TestOneWaiterHasTheDoor(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Shards: 1}})
	sh, door := s.Core.shard(0), s.Core.door
	sh.lock()
	var done sync.WaitGroup
	done.Go(func() {
		sh.lock()
		sh.unlock()
	})
	tries := 0
	for ; door.TryLock() && tries < 1e6; tries++ {
		door.Unlock()
		runtime.Gosched()
	}
	require.Less(t, tries, int(1e6), "the waiter does not keep the door")
	for range 1000 {
		runtime.Gosched()
		require.False(t, door.TryLock(), "the waiter has left the door without the shard")
	}
	sh.unlock()
	done.Wait()
}

// TestQueueOfSeveralBubbles: a queue that was made outside of bubbles may be used
// in several, and outside, by calls that do not block. A wait for its lock is no
// durable block.
func TestQueueOfSeveralBubbles(t *testing.T) {
	for _, shards := range []int{1, 2} {
		s := newTestSet(t, Config[int]{Settings: Settings{Shards: shards}})
		use := func(first int) {
			var users sync.WaitGroup
			for g := range 4 {
				users.Go(func() {
					for i := range testscale.N(20_000) {
						s.Add(first + g)
						if item, _, _, ok := s.TryTake(); ok {
							pause(i, 64)
							s.Done(item)
						}
					}
				})
			}
			users.Wait()
		}
		var places sync.WaitGroup
		for b := range 3 {
			places.Go(func() {
				if b == 0 {
					use(0)
					return
				}
				synctest.Test(t, func(*testing.T) { use(4 * b) })
			})
		}
		places.Wait()
	}
}
