package shard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/stats"
)

// TestShutDownDropsInTurns: many delayed items are dropped, a bounded number
// per hold of a lock. What is ready or in processing as well stays.
func TestShutDownDropsInTurns(t *testing.T) {
	const items = 10 * stepsPerHold
	c := newCheckedSet(t, Config[int]{Shards: 2})
	for item := range items {
		c.addAfter(item, time.Duration(1+item%500)*time.Second)
	}
	for item := range 20 {
		c.add(item) // they stay delayed
	}
	for range 10 {
		c.get()
	}
	c.check()
	c.shutDown()
	c.check()
	if st := c.set.Stats(); st.Dropped != items || st.Ready != 10 || st.Processing != 10 {
		t.Errorf("%+v", st)
	}
	c.drainAll()
}

// TestDropIsBounded checks one turn after the other.
func TestDropIsBounded(t *testing.T) {
	const items = 10 * stepsPerHold
	s := newTestSet(t, Config[int]{})
	for item := range items {
		s.AddAfter(item, time.Duration(1+item%70)*time.Millisecond)
	}
	for all, before := false, items; !all; {
		all = s.shard(0).dropDelayed(func(int) {})
		left := s.Stats().Delayed
		if before-left > stepsPerHold || all != (left == 0) {
			t.Fatalf("a turn dropped %d items, left %d, and says that it was the last: %v", before-left, left, all)
		}
		before = left
	}
}

// TestShutDownOfDelayedAlone: all memory is given back. The table is reset
// while its last item is dropped, in the middle of the wheel's work.
func TestShutDownOfDelayedAlone(t *testing.T) {
	for _, items := range []int{1, stepsPerHold - 1, stepsPerHold, stepsPerHold + 1, 2000} {
		c := newCheckedSet(t, Config[int]{})
		for item := range items {
			c.addAfter(item, time.Hour)
		}
		c.shutDown()
		c.check()
		if st := c.set.Stats(); st.Dropped != uint64(items) {
			t.Errorf("of %d items %d were dropped", items, st.Dropped)
		}
	}
}

// TestAddsAfterShutDown: adds are dropped and counted, and Get and Done go on.
func TestAddsAfterShutDown(t *testing.T) {
	c := newCheckedSet(t, Config[int]{Shards: 3})
	c.add(1)
	c.add(2)
	c.get()
	c.add(1)
	c.add(2)
	c.shutDown()
	for _, d := range []time.Duration{0, -1, 1, time.Hour} {
		c.addAfter(3, d)
	}
	c.add(1)
	c.check()
	c.drainAll()
}

// TestGetAfterShutDown: Get returns true, then false for an item that was
// dirty, then true (C10).
func TestGetAfterShutDown(t *testing.T) {
	s := newTestSet(t, Config[string]{})
	s.Add("a")
	s.Get()
	s.Add("a")
	s.ShutDown()
	if item, shutdown := s.Get(); item != "" || !shutdown {
		t.Errorf("(%q, %v)", item, shutdown)
	}
	s.Done("a")
	if item, shutdown := s.Get(); item != "a" || shutdown {
		t.Errorf("(%q, %v)", item, shutdown)
	}
	s.Done("a")
	if item, shutdown := s.Get(); item != "" || !shutdown {
		t.Errorf("(%q, %v)", item, shutdown)
	}
}

// TestAddInFlightAtShutDown: an Add has seen that the queue is open, and holds
// its shard's lock while the queue is shut down. A consumer that comes
// meanwhile must not leave without the item (C2, C10).
func TestAddInFlightAtShutDown(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 2})
	sh := s.shard(1)
	sh.mu.Lock()
	down := make(chan struct{})
	go func() { s.ShutDown(); close(down) }()
	eventually(t, "ShutDown does not begin", s.ShuttingDown)
	left := make(chan bool, 1)
	go func() { _, shutdown := s.Get(); left <- shutdown }()
	eventually(t, "the consumer does not park", func() bool { return s.parker.parked.Load() > 0 || len(left) > 0 })
	if id, e := sh.entryFor(7, &address{hash: uint32(s.hash(7))}); sh.add(id, e, request{})&wakes == 0 {
		t.Error("the item is not ready")
	}
	sh.mu.Unlock()
	s.wake()
	if shutdown := <-left; shutdown {
		t.Error("the consumer left the item behind")
	}
	<-down
}

// TestAddsWhileClosing: a shutdown has begun and goes from shard to shard. An
// add to a shard that it has closed is dropped, or a drain would not know of
// it.
func TestAddsWhileClosing(t *testing.T) {
	s := newTestSet(t, Config[int]{Shards: 2})
	s.Add(1) // something for a drain to wait for
	s.shard(1).mu.Lock()
	down := make(chan struct{})
	go func() { s.ShutDown(); close(down) }()
	sh := s.shard(0)
	eventually(t, "ShutDown does not begin", s.ShuttingDown)
	sh.addItem(2, &address{hash: uint32(s.hash(2))}, request{})
	s.delay(sh, 3, address{hash: uint32(s.hash(3))}, s.driver.readClock(), filing{deadline: s.time.now() + 5, limit: never}, nil)
	if sh.rare.dropped != 2 || sh.wheel != nil {
		t.Errorf("%d adds were dropped; the wheel: %v", sh.rare.dropped, sh.wheel)
	}
	s.shard(1).mu.Unlock()
	<-down
}

// TestShutDownWhileDrainCloses: a ShutDown comes when a ShutDownWithDrain has
// begun, but does not wait yet. It ends the drain's wait nevertheless (C12).
func TestShutDownWhileDrainCloses(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	s.Add(1) // and no Get
	s.shard(0).mu.Lock()
	drained := make(chan struct{})
	go func() { s.ShutDownWithDrain(); close(drained) }()
	eventually(t, "the drain does not begin", s.ShuttingDown)
	s.ShutDown()
	s.shard(0).mu.Unlock()
	eventually(t, "the drain goes on after a ShutDown", closed(drained))
}

// TestManyShutDowns: ShutDowns and drains from many goroutines all return.
func TestManyShutDowns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{Shards: 3})
		for item := range 100 {
			s.Add(item)
			s.AddAfter(item, time.Hour)
		}
		for i := range 100 {
			go func() {
				if i%2 == 0 {
					s.ShutDownWithDrain()
				} else {
					s.ShutDown()
				}
			}()
		}
		synctest.Wait()
		s.ShutDown() // for the drains that came after the last
		synctest.Wait()
		checkSet(t, s)
		if st := s.Stats(); st.Dropped != 100 || st.Ready != 100 {
			t.Errorf("%+v", st)
		}
	})
}

// TestDrainOwesOnce: each shard reports its quiescence once, whatever it does
// before and after.
func TestDrainOwesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{Shards: 8})
		for item := range 50 {
			s.Add(item)
		}
		drained := false
		go func() { s.ShutDownWithDrain(); drained = true }()
		for range 50 {
			synctest.Wait()
			if drained {
				t.Error("the drain ended early")
			}
			item, _ := s.Get()
			s.Done(item)
			s.Done(item) // misuse
		}
		synctest.Wait()
		if owing := s.drained.owing.Load(); !drained || owing != 0 {
			t.Errorf("drained: %v; %d reports are owing", drained, owing)
		}
		s.ShutDownWithDrain()
	})
}

// TestShutDownBesideTheWatchdog: the driver may be searching for stuck items
// when a shutdown begins. What it finds then is neither reported nor kept.
func TestShutDownBesideTheWatchdog(t *testing.T) {
	told := 0
	s := newTestSet(t, Config[int]{
		Ages: true, StuckAfter: time.Second, OnStuck: func(stats.Item[int]) { told++ },
	})
	s.Add(1)
	s.Get()
	s.ShutDown()
	s.findStuck(s.time.now() + 10_000)
	if found := &s.watchdog.found; len(found.kept) > 0 || found.pending.Load() {
		t.Errorf("%d are kept", len(found.kept))
	}
	if s.reportStuck(); told > 0 {
		t.Errorf("%d were reported", told)
	}
}
