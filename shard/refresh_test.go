package shard

import (
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
