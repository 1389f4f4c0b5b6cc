package shard

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLitmusHeldOpen tests windows that are too narrow to be met at random. The
// shard's lock is held, so that a call stops in the middle, at the check or at
// the publishing that the order is about. What must come before that has
// happened, and what must come after has not.
func TestLitmusHeldOpen(t *testing.T) {
	for _, test := range []struct {
		name, stops string
		call        func(s *Set[int])
		// At the stop, so many consumers are parked, and the token is out or
		// not.
		parked    int32
		searching bool
	}{
		{"a consumer announces, then checks", ".park(", func(s *Set[int]) { s.park(nil) }, 2, false},
		{"a searcher clears searching, then checks", ".passOn(", func(s *Set[int]) {
			s.parker.searching.Store(true)
			s.passOn()
		}, 1, false},
		{"a producer publishes, then checks for parked consumers", ".Add(", func(s *Set[int]) { s.Add(2) }, 1, false},
		{"a Done publishes, then checks for parked consumers", ".Done(", func(s *Set[int]) { s.Done(1) }, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestSet(t, Config[int]{})
			s.Add(1)
			s.TryTake()
			s.Add(1)
			s.parker.parked.Store(1) // a consumer is parked
			s.shard(0).mu.Lock()
			returned := make(chan struct{})
			go func() { test.call(s); close(returned) }()
			eventually(t, "the call does not stop at the lock", func() bool { return waitsForLock(test.stops) })
			if parked, searching := s.parker.parked.Load(), s.parker.searching.Load(); parked != test.parked || searching != test.searching {
				t.Errorf("%d parked, searching %v; want %d, %v", parked, searching, test.parked, test.searching)
			}
			s.shard(0).mu.Unlock()
			s.Done(1) // the consumer finds it ready
			<-returned
		})
	}
}

// TestLitmusHeldOpenAtShutDown: a consumer has seen that the queue is open, and
// is stopped before it takes an item while the queue is shut down. It does not
// block forever.
func TestLitmusHeldOpenAtShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{})
		s.shard(0).mu.Lock()
		told := false
		go func() { _, told, _ = s.await(nil, buffers[int]{items: make([]int, 1)}) }()
		eventually(t, "the consumer does not look", func() bool { return waitsForLock(".takeAll(") })
		s.closing.begun.Store(true)
		s.closing.complete.Store(true)
		s.wake() // no consumer is parked yet
		s.shard(0).mu.Unlock()
		synctest.Wait()
		if !told {
			t.Error("the consumer sleeps")
			rouse(s)
		}
	})
}

// TestLitmusHeldOpenPanic: the clock panics again while the driver tries to
// make up for its panic, and is stopped there until a ShutDown waits for the
// driver. The ShutDown returns.
func TestLitmusHeldOpenPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newMeddled(t)
		panics, returned := 0, false
		c.each(beforeAfterFunc, func() {
			if panics++; panics == 2 {
				go func() { s.ShutDown(); returned = true }()
				eventually(t, "ShutDown does not come", func() bool { return s.driver.ownership.Load() == timerNotified })
			}
			panic(panics)
		})
		if got := panicOf(func() { s.AddAfter(1, time.Hour) }); got != 1 || panics != 2 {
			t.Errorf("panicked with %v, of %d panics", got, panics)
		}
		synctest.Wait()
		if !returned {
			t.Error("ShutDown waits forever")
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
