package shard

import (
	"strconv"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// TestStampsWhenOperationsStop: operations stop at once. An operation within
// the tick finds a reading that is at most as old as the tick, and one after it
// reads again.
func TestStampsWhenOperationsStop(t *testing.T) {
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: fake, Ages: true, Metrics: true}})
	for item := range 2560 { // ten times what a sampler lets read alone
		s.Add(item)
	}
	if s.Core.coarse.Live.Load() == 0 {
		s.Add(-1) // the last has ended the turn of a reading
	}
	before := s.Core.coarse.Now.Load()
	fake.Step(time.Millisecond - 1)
	s.Add(-2)
	if now := s.Core.coarse.Now.Load(); now != before {
		t.Error("within the tick, the clock was read for one operation")
	}
	fake.Step(1)
	if s.Core.coarse.Live.Load() != 0 {
		t.Error("the driver did not end the tick")
	}
	fake.Step(time.Hour / 2)
	s.Add(-3)
	if now := s.Core.coarse.Now.Load(); now != s.Core.time.Nanoseconds() {
		t.Errorf("after a pause, a stamp is %v old", time.Duration(s.Core.time.Nanoseconds()-now))
	}
	s.Core.ShutDown()
}

// TestStampsAtTheEndOfWaits: the driver ends the waits of many groups. A
// consumer wakes at the first and takes its item, while the driver goes on. The
// age of the processing begins then, not at the reading before the wait, or
// OnStuck would be called early (C44).
func TestStampsAtTheEndOfWaits(t *testing.T) {
	const groups, pause = 64, 5 * time.Millisecond
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[int]{
		Settings: Settings{Shards: groups, Clock: fake, Ages: true, GroupPolicy: limited(1)},
		Group:    strconv.Itoa,
	})
	for range rounds(t, 20_000) {
		for item := range groups {
			s.Add(item)
			s.Core.PauseGroup(strconv.Itoa(item), fake.Now().Add(pause))
		}
		taken := make(chan int)
		go func() {
			item, _ := s.Get()
			taken <- item
		}()
		eventually(t, "the consumer does not park", func() bool { return s.Core.parker.Parked() > 0 })
		fake.Step(pause)
		item := <-taken
		if _, row, _ := s.Lookup(item); !row.Since.Equal(fake.Now()) {
			t.Fatalf("the item was taken at %v, and is in processing since %v", fake.Now(), row.Since)
		}
		s.Done(item)
		for range groups - 1 {
			item, _ = s.Get()
			s.Done(item)
		}
	}
}
