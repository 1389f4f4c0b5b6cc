package shard

import (
	"maps"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/stats"
)

// tester is what the checks need of a test. *testing.T, the argument of
// *testing.F and *rapid.T all have it.
type tester interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// checkSet fails the test unless all redundant data of a set agree. No other
// goroutine may use the set meanwhile.
func checkSet[T comparable](t tester, s *Set[T]) {
	t.Helper()
	for i := range s.Core.shards.all {
		checkShard(t, s, s.Core.shard(i))
	}
	checkThrottled(t, s)
	if m := s.Core.Stats().Metrics; m != nil && m.Depth != s.Core.Depth() {
		t.Fatalf("Depth is %d, and in Stats %d", s.Core.Depth(), m.Depth)
	}
	if state := s.Core.driver.ownership.Load(); state != timerIdle && state != timerStopped {
		t.Fatalf("the timer is left in state %d", state)
	}
	if !s.Core.closing.begun.Load() && s.Core.driver.armed.Load() > s.Core.driver.earliest() {
		t.Fatalf("the driver is set for %d, a deadline is at %d", s.Core.driver.armed.Load(), s.Core.driver.earliest())
	}
}

func checkShard[T comparable](t tester, s *Set[T], sh *shard) {
	t.Helper()
	counts := map[items.Phase]int{}
	waiting := 0
	for _, id := range idsOf(t, sh) {
		e := sh.table.At(id)
		counts[e.Phase()]++
		if e.Delayed() {
			waiting++
		}
		checkItem(t, s, sh, id, e)
	}
	checkFIFO(t, s, sh, counts[items.Ready])
	checkDepths(t, s, sh)
	checkShown(t, sh)
	if n := counts[items.Processing] + counts[items.Dirty]; n != int(sh.line.Processing()) {
		t.Fatalf("shard %d: %d items in processing, but its count is %d", sh.number, n, sh.line.Processing())
	}
	checkWheel(t, sh, waiting)
	checkMeasures(t, sh)
}

// checkDepths compares the counts by priority with the entries.
func checkDepths[T comparable](t tester, s *Set[T], sh *shard) {
	t.Helper()
	var got depths
	sh.addDepthsTo(&got)
	if got.tooMany {
		return
	}
	counted := map[int]int{}
	for _, id := range idsOf(t, sh) {
		if e := sh.table.At(id); e.Phase() != items.Ready {
			continue
		} else if sh.table.Requested == nil {
			counted[0]++
		} else {
			counted[sh.table.Requested.Run(id)]++
		}
	}
	maps.DeleteFunc(got.by, func(_, n int) bool { return n == 0 })
	if !maps.Equal(got.by, counted) {
		t.Fatalf("shard %d: %v items are ready by priority, but the reading has %v", sh.number, counted, got.by)
	}
}

// idsOf returns the ids in use, and checks that the index has them.
func idsOf(t tester, sh *shard) (ids []uint32) {
	t.Helper()
	if sh.table == nil {
		return nil
	}
	more := true
	for n := 0; more; n++ {
		_, more = sh.table.Piece(n, rowsPerHold, func(id uint32) {
			if !sh.table.At(id).Free() {
				ids = append(ids, id)
			}
		})
	}
	if len(ids) != int(sh.table.Live) {
		t.Fatalf("shard %d: %d entries, but live is %d", sh.number, len(ids), sh.table.Live)
	}
	return ids
}

func checkItem[T comparable](t tester, s *Set[T], sh *shard, id uint32, e *items.Entry) {
	t.Helper()
	if e.Phase() == items.Idle && !e.Delayed() {
		t.Fatalf("item %v is neither ready nor processing nor delayed, but not forgotten", *items.Of[T](e))
	}
	if found := sh.find(items.KeyOf(items.Of[T](e)), uint32(s.hash(*items.Of[T](e)))); found != id {
		t.Fatalf("item %v has entry %d, but is found at %d", *items.Of[T](e), id, found)
	}
	if home := s.shardOf(*items.Of[T](e)); home != sh {
		t.Fatalf("item %v is in shard %d, but belongs to %d", *items.Of[T](e), sh.number, home.number)
	}
	deadline, filed := uint64(0), false
	if sh.wheel != nil {
		deadline, filed = sh.wheel.Deadline(id)
	}
	if filed != e.Delayed() {
		t.Fatalf("item %v: delayed is %v, in the wheel %v", *items.Of[T](e), e.Delayed(), filed)
	}
	if filed && deadline < sh.next.Load() {
		t.Fatalf("item %v is due at %d, but the shard's next is %d", *items.Of[T](e), deadline, sh.next.Load())
	}
}

func checkFIFO[T comparable](t tester, s *Set[T], sh *shard, ready int) {
	t.Helper()
	if items := readyItems(t, s, sh); len(items) != int(sh.line.Depth()) || len(items) != ready {
		t.Fatalf("shard %d: %d items in the FIFO, %d in phase ready, length %d",
			sh.number, len(items), ready, sh.line.Depth())
	}
	if len(sh.set.shards.all) == 1 {
		return // it has no ready bit
	}
	if bit := sh.set.shards.ready.IsMarked(sh.number); bit != sh.line.CanTake() {
		t.Fatalf("shard %d: the ready bit is %v with %d ready items", sh.number, bit, ready)
	}
}

// checkShown checks that a shard has published what others must know of its line.
func checkShown(t tester, sh *shard) {
	t.Helper()
	shown := func() (all [3]uint64) {
		if sh.set.throttled.waits != nil {
			all[0] = sh.set.throttled.waits[sh.number].Load()
		}
		all[1], _ = sh.set.throttled.read()
		all[2] = uint64(sh.set.throttled.paused.Load())
		return all
	}
	before := shown()
	if sh.showLine(); shown() != before {
		t.Fatalf("shard %d has published %v instead of %v", sh.number, before, shown())
	}
}

// checkThrottled checks the counts of a set's throttled groups.
func checkThrottled[T comparable](t tester, s *Set[T]) {
	t.Helper()
	throttled, paused := uint32(0), int32(0)
	for row := range s.Core.Groups() {
		if row.Throttled {
			throttled++
		}
		if row.Reason == stats.ThrottledByPause {
			paused++
		}
	}
	if _, count := s.Core.throttled.read(); count != throttled || s.Core.throttled.paused.Load() != paused {
		t.Fatalf("%d groups are throttled, %d of them paused, but the counts are %d and %d",
			throttled, paused, count, s.Core.throttled.paused.Load())
	}
}

// allReady returns the items of all FIFOs.
func allReady[T comparable](t tester, s *Set[T]) (items []T) {
	t.Helper()
	for i := range s.Core.shards.all {
		items = append(items, readyItems(t, s, s.Core.shard(i))...)
	}
	return items
}

// readyItems returns the items of a shard that are ready, in order.
func readyItems[T comparable](t tester, s *Set[T], sh *shard) (all []T) {
	t.Helper()
	if sh.table == nil {
		return nil
	}
	sh.line.Walk(&sh.table.Table, func(id uint32) (on bool) {
		e := sh.table.At(id)
		if e.Phase() != items.Ready {
			t.Fatalf("item %v is in the line in phase %d", *items.Of[T](e), e.Phase())
		}
		if all = append(all, *items.Of[T](e)); len(all) > int(sh.table.Live) {
			t.Fatalf("the line of shard %d does not end", sh.number)
		}
		return true
	})
	return all
}

func checkWheel(t tester, sh *shard, waiting int) {
	t.Helper()
	if sh.wheel == nil {
		if waiting > 0 {
			t.Fatalf("shard %d: %d items are delayed without a wheel", sh.number, waiting)
		}
		return
	}
	if sh.wheel.Len() != waiting {
		t.Fatalf("shard %d: %d items are delayed, but %d timers are filed", sh.number, waiting, sh.wheel.Len())
	}
}
