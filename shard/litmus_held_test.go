package shard

import (
	"runtime"
	"strings"
	"testing"
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
