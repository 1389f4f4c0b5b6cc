package shard

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// The tests of this file run two or three goroutines against each other, over and
// over, where a comment in the source claims that a race cannot be lost. Those of the
// parking lot and of the driver have been seen to fail when the line that the comment
// is about is taken away. The windows of a shutdown are too narrow to be met by chance:
// shutdown_test.go holds them open with a lock.

// rounds returns how often to run a race, on two processors at least.
func rounds(t *testing.T, n int) int {
	processors := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	if testing.Short() || underRace {
		return n / 10
	}
	return n
}

// hangs is how long a test waits before it says that it waits for ever. Nothing is
// measured by it.
const hangs = time.Minute

// eventually waits for something that others are doing, without sleeping.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	var since time.Time
	for n := 0; !happened(); n++ {
		runtime.Gosched()
		switch {
		case n == 1000:
			since = time.Now()
		case n%1000 == 0 && n > 1000 && time.Since(since) > hangs:
			t.Fatalf("waited %v in vain: %s", hangs, what)
		}
	}
}

// closed returns a condition for eventually: that a channel is closed.
func closed(c <-chan struct{}) func() bool {
	return func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
}

// pause spends a little time, differently in each round, so that two goroutines meet
// at other places.
func pause(round, longest int) {
	for range mix(uint32(round)) % uint32(longest) {
		spin.Add(1)
	}
}

var spin atomic.Uint32

// TestLitmusPark: consumers go to sleep while producers add, and none sleeps for good
// beside an item (C4). Two consumers and two producers: of the two tokens that are
// needed one may be left to the searcher's last look.
func TestLitmusPark(t *testing.T) {
	for _, shards := range []int{1, 4} {
		litmusPark(t, shards, 1, 1)
		litmusPark(t, shards, 2, 2)
	}
}

func litmusPark(t *testing.T, shards, producers, consumers int) {
	n := rounds(t, 100_000)
	s := newTestSet(t, Config[int]{Shards: shards})
	var gotten, round atomic.Int64
	var all sync.WaitGroup
	for range consumers {
		all.Go(func() {
			for item, shutdown := s.Get(); !shutdown; item, shutdown = s.Get() {
				s.Done(item)
				gotten.Add(1)
			}
		})
	}
	for p := range producers - 1 {
		all.Go(func() {
			for r := 1; r <= n; r++ {
				for round.Load() < int64(r) {
					runtime.Gosched()
				}
				s.Add(r*producers + p + 1)
			}
		})
	}
	for r := 1; r <= n; r++ {
		round.Store(int64(r))
		pause(r, 100)
		s.Add(r * producers)
		eventually(t, "an item is ready, and all consumers sleep", func() bool {
			return gotten.Load() == int64(r*producers)
		})
	}
	s.ShutDown()
	all.Wait()
}

// TestLitmusAddAgainstShutDown: an Add that is not dropped lands before the last
// consumer leaves (C2, C10).
func TestLitmusAddAgainstShutDown(t *testing.T) {
	for round := range rounds(t, 30_000) {
		s := newTestSet(t, Config[int]{Shards: 2})
		gotten := 0
		var all sync.WaitGroup
		all.Go(func() {
			for _, shutdown := s.Get(); !shutdown; _, shutdown = s.Get() {
				gotten++
			}
		})
		all.Go(func() { pause(round, 50); s.Add(1); s.Add(2); s.Add(3) })
		s.ShutDown()
		all.Wait()
		if stats := s.Stats(); int(stats.Added) != gotten || stats.Added+stats.Dropped != 3 {
			t.Fatalf("round %d: %d items were gotten: %+v", round, gotten, stats)
		}
	}
}

// TestLitmusDrain: a drain ends, and not before the last Done, with workers who finish
// while it starts.
func TestLitmusDrain(t *testing.T) {
	for round := range rounds(t, 20_000) {
		s := newTestSet(t, Config[int]{Shards: 2})
		for item := range 4 {
			s.Add(item)
		}
		var done atomic.Int32
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for item, shutdown := s.Get(); !shutdown; item, shutdown = s.Get() {
					done.Add(1)
					s.Done(item)
				}
			})
		}
		all.Go(func() { s.ShutDownWithDrain() })
		pause(round, 50)
		s.ShutDownWithDrain()
		if n, stats := done.Load(), s.Stats(); n != 4 || stats.Ready+stats.Processing > 0 {
			t.Fatalf("round %d: a drain ended after %d of 4 items: %+v", round, n, stats)
		}
		all.Wait()
	}
}

// TestLitmusShutDownAgainstDrain: ShutDown lets drains go, however they meet.
func TestLitmusShutDownAgainstDrain(t *testing.T) {
	for round := range rounds(t, 20_000) {
		s := newTestSet(t, Config[int]{Shards: 2})
		s.Add(1)
		s.Get() // and no Done
		var all sync.WaitGroup
		returned := atomic.Bool{}
		all.Go(func() { s.ShutDownWithDrain(); returned.Store(true) })
		pause(round, 50)
		s.ShutDown()
		eventually(t, "a drain does not end", func() bool {
			s.ShutDown() // in case the first came before the drain
			return returned.Load()
		})
		all.Wait()
	}
}

// TestLitmusDriverRests: an AddAfter that meets the driver on its way to rest. Either
// the driver saw the deadline, or the AddAfter sets the timer; never neither.
func TestLitmusDriverRests(t *testing.T) {
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Shards: 2, Clock: fake})
	var round, added atomic.Int64
	n := rounds(t, 100_000)
	var all sync.WaitGroup
	all.Go(func() {
		for r := 1; r <= n; r++ {
			for round.Load() < int64(r) {
				runtime.Gosched()
			}
			pause(r, 30)
			s.AddAfter(-r, time.Duration(1+r%3)*time.Millisecond)
			added.Store(int64(r))
		}
	})
	for r := 1; r <= n; r++ {
		s.AddAfter(r, time.Millisecond)
		round.Store(int64(r))
		fake.Step(2 * time.Millisecond) // the timer's function runs against the AddAfter
		eventually(t, "AddAfter does not return", func() bool { return added.Load() == int64(r) })
		if timers := fake.Timers(); s.Stats().Waiting > 0 && timers != 1 {
			t.Fatalf("round %d: an item waits, and %d timers are set", r, timers)
		}
		fake.Step(4 * time.Millisecond)
		if stats := s.Stats(); stats.Ready != 2 || stats.Waiting != 0 {
			t.Fatalf("round %d: an item does not become ready: %+v", r, stats)
		}
		for range 2 {
			item, _ := s.Get()
			s.Done(item)
		}
	}
	all.Wait()
	checkSet(t, s)
}

// TestLitmusAddAfterAgainstShutDown: no timer is left, whoever sets it.
func TestLitmusAddAfterAgainstShutDown(t *testing.T) {
	for round := range rounds(t, 30_000) {
		fake := clock.NewFake(start)
		s := newTestSet(t, Config[int]{Shards: 2, Clock: fake})
		s.AddAfter(1, time.Millisecond)
		var all sync.WaitGroup
		all.Go(func() { s.AddAfter(2, 500*time.Microsecond); s.AddAfter(3, time.Microsecond) })
		all.Go(func() { fake.Step(2 * time.Millisecond) })
		pause(round, 50)
		s.ShutDown()
		all.Wait()
		if timers := fake.Timers(); timers > 0 || s.driver.baton.Load() != stopped {
			t.Fatalf("round %d: %d timers are left, the baton is in state %d", round, timers, s.driver.baton.Load())
		}
		if stats := s.Stats(); stats.Waiting > 0 || stats.Fired+stats.Dropped != 3 {
			t.Fatalf("round %d: %+v", round, stats)
		}
	}
}
