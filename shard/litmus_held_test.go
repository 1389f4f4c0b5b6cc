package shard

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLitmusHeldOpen looks at windows that are too narrow to be met by chance: the
// shard's lock is held, so that a call stops in the middle, at the look or at the
// publishing that the order is about. What has to come before that must have come, and
// what has to come after must not.
func TestLitmusHeldOpen(t *testing.T) {
	for _, test := range []struct {
		name, stops string
		call        func(s *Set[int])
		// At the stop there are so many parked, and the token is out or not.
		parked    int32
		searching bool
	}{
		{"a consumer announces, then looks", ".park(", func(s *Set[int]) { s.park(nil) }, 2, false},
		{"a searcher clears searching, then looks", ".passOn(", func(s *Set[int]) {
			s.lot.searching.Store(true)
			s.passOn()
		}, 1, false},
		{"a producer publishes, then looks for sleepers", ".Add(", func(s *Set[int]) { s.Add(2) }, 1, false},
		{"a Done publishes, then looks for sleepers", ".Done(", func(s *Set[int]) { s.Done(1) }, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestSet(t, Config[int]{})
			s.Add(1)
			s.TryTake()
			s.Add(1)
			s.lot.parked.Store(1) // somebody sleeps
			s.shard(0).mu.Lock()
			returned := make(chan struct{})
			go func() { test.call(s); close(returned) }()
			eventually(t, "the call does not stop at the lock", func() bool { return waitsForLock(test.stops) })
			if parked, searching := s.lot.parked.Load(), s.lot.searching.Load(); parked != test.parked || searching != test.searching {
				t.Errorf("%d parked, searching %v; want %d, %v", parked, searching, test.parked, test.searching)
			}
			s.shard(0).mu.Unlock()
			s.Done(1) // the consumer finds it ready
			<-returned
		})
	}
}

// TestLitmusHeldOpenAtShutDown: a consumer has seen that the queue is open, and is held
// at its look for an item while the queue is shut down. It does not sleep for ever.
func TestLitmusHeldOpenAtShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{})
		s.shard(0).mu.Lock()
		told := false
		go func() { _, told, _ = s.await(nil, hand[int]{items: make([]int, 1)}) }()
		eventually(t, "the consumer does not look", func() bool { return waitsForLock(".takeAll(") })
		s.closing.begun.Store(true)
		s.closing.complete.Store(true)
		s.wake() // nobody sleeps yet
		s.shard(0).mu.Unlock()
		synctest.Wait()
		if !told {
			t.Error("the consumer sleeps")
			rouse(s)
		}
	})
}

// TestLitmusHeldOpenPanic: the clock panics again while the driver tries to make up for
// its panic, and is held there until a ShutDown waits for the driver. It is let go.
func TestLitmusHeldOpenPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newMeddled(t)
		panics, returned := 0, false
		c.each(beforeAfterFunc, func() {
			if panics++; panics == 2 {
				go func() { s.ShutDown(); returned = true }()
				eventually(t, "ShutDown does not come", func() bool { return s.driver.baton.Load() == wanted })
			}
			panic(panics)
		})
		if got := panicOf(func() { s.AddAfter(1, time.Hour) }); got != 1 || panics != 2 {
			t.Errorf("panicked with %v, of %d panics", got, panics)
		}
		synctest.Wait()
		if !returned {
			t.Error("ShutDown waits for ever")
			s.driver.markStopped()
		}
		expectStopped(t, s, c.Timers())
	})
}

// waitsForLock reports whether some goroutine waits for a mutex in a function.
func waitsForLock(function string) bool {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	for stack := range strings.SplitSeq(string(dump), "\n\n") {
		if strings.Contains(stack, "[sync.Mutex.Lock") && strings.Contains(stack, function) {
			return true
		}
	}
	return false
}
