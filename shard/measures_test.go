package shard

import (
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/chunked"
	"github.com/shardq/shardq/shard/internal/items"
	"github.com/stretchr/testify/require"
)

// checkMeasures checks that the measures of a shard agree with its entries.
func checkMeasures(t tester, sh *shard) {
	if sh.set.measures == nil {
		return
	}
	m, marks, dirties, begins := sh.measures(), int32(0), 0, uint64(0)
	if m == nil {
		return // nothing was ever added
	}
	for _, id := range idsOf(t, sh) {
		e := sh.table.At(id)
		cell := chunked.Lookup(&m.marked, id)
		marked := cell != nil && *cell != 0
		if marked {
			marks++
		}
		switch phase := e.Phase(); {
		case phase == items.Dirty && !marked, (phase == items.Processing || phase == items.Idle) && marked:
			t.Fatalf("shard %d: entry %d in phase %d has a mark: %v", sh.number, id, phase, marked)
		case phase == items.Dirty || phase == items.Processing:
			begins += sh.table.times.of(id)
		}
		if e.Phase() == items.Dirty {
			dirties++
		}
	}
	if marks != m.marks || dirties != m.dirty || begins != m.begins {
		t.Fatalf("shard %d: %d marks, %d dirty, begun at %d together, but the counts are %d, %d and %d",
			sh.number, marks, dirties, begins, m.marks, m.dirty, m.begins)
	}
}

// TestC34WithoutMetricsNothingIsKept: no shard has measures, and nothing is
// recorded.
func TestC34WithoutMetricsNothingIsKept(t *testing.T) {
	fake := clock.NewFake(start)
	for _, ages := range []bool{false, true} {
		s := newTestSet(t, Config[string]{Settings: Settings{Shards: 4, Clock: fake, Ages: ages}})
		s.Add("a")
		s.AddAfter("b", time.Hour)
		s.Core.CountBackoff()
		_, _ = s.Get()
		s.Add("a")
		s.Done("a")
		s.Cancel("a")
		s.Core.ShutDown()
		if s.Core.measures != nil || s.Core.Stats().Metrics != nil || s.Core.inFlightAtEnd.Load() != nil {
			t.Errorf("with ages %v: measures %v", ages, s.Core.measures)
		}
		for i := range s.Core.shards.lanes.all {
			if s.Core.shards.lanes.all[i].retries.Load()+s.Core.shards.lanes.all[i].backoffs.Load() > 0 {
				t.Error("retries were counted")
			}
		}
	}
}

// TestTimesGoWithTheItems: one item stays, and the storage with it.
func TestTimesGoWithTheItems(t *testing.T) {
	s := newTestSet(t, Config[int]{Settings: Settings{Ages: true}})
	s.Add(-1)
	for i := range 8 * chunked.ChunkCells {
		s.Add(i)
	}
	for range 8 * chunked.ChunkCells {
		_, _, h, _ := s.TryTake()
		s.Core.End(h)
	}
	require.LessOrEqual(t, chunked.Size(&s.Core.shard(0).table.times.since), 3*chunked.ChunkCells)
}

// TestC33ReadingsGoOn: in a busy tick, operations share readings of the clock, and
// make new ones all the time.
func TestC33ReadingsGoOn(t *testing.T) {
	c := &countedClock{Fake: clock.NewFake(start)}
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: c, Ages: true, Metrics: true}})
	for range 3 {
		before := c.readings
		for i := range 20_000 {
			s.Add(i)
			s.Get()
			s.Done(i)
		}
		if n := c.readings - before; n < 20 || n > 2000 {
			t.Errorf("%d readings", n)
		}
	}
}

type countedClock struct {
	*clock.Fake
	readings int
}

func (c *countedClock) Now() time.Time {
	c.readings++
	return c.Fake.Now()
}
