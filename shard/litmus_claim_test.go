package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// A claimed is a set with a Handle of a processing that several actors end.
type claimed struct {
	*Set[int]
	h Handle
	// ended counts the successful ends of each actor.
	ended [2]int
	// item and next are what takeNext took.
	item int
	next Handle
}

// claimedWorlds returns worlds, with groups and without, in which item 1 was
// handed out with the Handle h, and since has run.
func claimedWorlds(t tester, shards int, since func(w *claimed)) func(round int) *claimed {
	return func(round int) *claimed {
		config := Config[int]{Settings: Settings{Shards: shards, Clock: clock.NewFake(start)}}
		if round%4 > 1 {
			config.Group, config.GroupPolicy = func(int) string { return "g" }, limited(2)
		}
		w := &claimed{Set: newTestSet(t, config)}
		w.Add(1)
		_, _, w.h, _ = w.TryTake()
		since(w)
		return w
	}
}

// takeNext is another consumer.
func (w *claimed) takeNext() { w.item, _, w.next, _ = w.TryTake() }

// An end ends a processing, and reports whether it did.
type end func(s *Set[int], h Handle) bool

var ends = map[string]end{
	"End":     func(s *Set[int], h Handle) bool { return s.Core.End(h) },
	"batch":   func(s *Set[int], h Handle) bool { return len(s.Core.EndBatch([]Handle{h, h})) == 1 },
	"Retry":   func(s *Set[int], h Handle) bool { return s.Core.Retry(h, Delay{Duration: time.Second}) == TakenBack },
	"Release": func(s *Set[int], h Handle) bool { return s.Core.Release(h, 0) },
	"Seal":    func(s *Set[int], h Handle) bool { _, ok := s.Core.Seal(h); return ok },
}

// leaves has what is left of an item that was not added meanwhile.
var leaves = map[string]string{
	"End":     "0 ready, 0 delayed, 0 processing",
	"batch":   "0 ready, 0 delayed, 0 processing",
	"Retry":   "0 ready, 1 delayed, 0 processing",
	"Release": "1 ready, 0 delayed, 0 processing",
	"Seal":    "0 ready, 0 delayed, 1 processing",
}

// by returns an actor that ends the processing in the named ways.
func by(actor int, names ...string) func(w *claimed) {
	return func(w *claimed) {
		for _, name := range names {
			if ends[name](w.Set, w.h) {
				w.ended[actor]++
			}
		}
	}
}

// everyEnd is the first actor if it comes too late, in every way.
var everyEnd = by(0, "End", "batch", "Retry", "Release", "Seal")

// whereOf returns an outcome: which ends succeeded, and in which states the
// items are.
func whereOf(t tester) func(w *claimed, _ int) string {
	return func(w *claimed, _ int) string {
		checkSet(t, w.Set)
		st := w.Core.Stats()
		return fmt.Sprintf("%v ended; %d ready, %d delayed, %d processing", w.ended, st.Ready, st.Delayed, st.Processing)
	}
}

// handOutOf returns an outcome: what takeNext took, and whether that goes on.
func handOutOf(t tester) func(w *claimed, _ int) string {
	where := whereOf(t)
	return func(w *claimed, _ int) string {
		taken := "nothing taken; "
		if w.next != (Handle{}) {
			taken = fmt.Sprintf("%d taken, valid %v; ", w.item, w.Core.Valid(w.next))
		}
		return taken + where(w, 0)
	}
}

// TestLitmusEndAgainstEnd: of two ends of one processing, by copies of one
// Handle, one counts, and decides what becomes of the item (C60).
func TestLitmusEndAgainstEnd(t *testing.T) {
	for _, pair := range [][2]string{{"End", "End"}, {"End", "Retry"}, {"Release", "End"}, {"Seal", "End"}, {"batch", "Retry"}} {
		t.Run(pair[0]+" "+pair[1], func(t *testing.T) {
			litmus[*claimed]{
				rounds:  20_000,
				world:   claimedWorlds(t, 2, func(*claimed) {}),
				actors:  []func(w *claimed){by(0, pair[0]), by(1, pair[1])},
				outcome: whereOf(t),
				outcomes: verdicts{
					"[1 0] ended; " + leaves[pair[0]]: certain,
					"[0 1] ended; " + leaves[pair[1]]: certain,
				},
			}.run(t)
		})
	}
}

// TestLitmusSealedEnd: the caller that seals a Handle ends the processing
// later. An end by the old Handle in between does not (C60).
func TestLitmusSealedEnd(t *testing.T) {
	sealThenRelease := func(w *claimed) {
		if only, ok := w.Core.Seal(w.h); ok && w.Core.Release(only, 0) {
			w.ended[0]++
		}
	}
	litmus[*claimed]{
		rounds:  20_000,
		world:   claimedWorlds(t, 1, func(*claimed) {}),
		actors:  []func(w *claimed){sealThenRelease, by(1, "End", "Retry")},
		outcome: whereOf(t),
		outcomes: verdicts{
			"[1 0] ended; 1 ready, 0 delayed, 0 processing": certain,
			"[0 1] ended; 0 ready, 0 delayed, 0 processing": certain,
		},
	}.run(t)
}

// TestC60FreedCellGoesToAnother: an end frees the cell of the item, and another
// item gets the cell and is handed out. Every end by the Handle of the first,
// which has the same id, comes meanwhile, and does not end the processing of
// the other.
func TestC60FreedCellGoesToAnother(t *testing.T) {
	addAndTake := func(w *claimed) { w.Add(2); w.takeNext() }
	outcome := handOutOf(t)
	sameCell := func(w *claimed, _ int) string {
		return fmt.Sprintf("same cell %v; %s", w.next.id == w.h.id, outcome(w, 0))
	}
	for _, test := range []struct {
		name     string
		since    func(w *claimed)
		actors   []func(w *claimed)
		outcomes verdicts
	}{
		{"freed before", func(w *claimed) { w.Core.End(w.h) }, []func(w *claimed){everyEnd, addAndTake}, verdicts{
			"same cell true; 2 taken, valid true; [0 0] ended; 0 ready, 0 delayed, 1 processing": certain,
		}},
		{"freed meanwhile", func(*claimed) {}, []func(w *claimed){by(0, "End"), func(w *claimed) { by(1, "End")(w); addAndTake(w) }}, verdicts{
			"same cell true; 2 taken, valid true; [1 0] ended; 0 ready, 0 delayed, 1 processing": certain,
			"same cell true; 2 taken, valid true; [0 1] ended; 0 ready, 0 delayed, 1 processing": certain,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			litmus[*claimed]{
				rounds: 20_000, world: claimedWorlds(t, 1, test.since), actors: test.actors,
				outcome: sameCell, outcomes: test.outcomes,
			}.run(t)
		})
	}
}
