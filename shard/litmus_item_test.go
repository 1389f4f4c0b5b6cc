package shard

import (
	"fmt"
	"math"
	"testing"
)

// phaseOf describes what the set knows of item 1, after all.
func phaseOf(t failer, s *Set[int]) string {
	checkSet(t, s)
	st := s.Stats()
	return fmt.Sprintf("%d ready, %d processing, %d misused", st.Ready, st.Processing, st.Misused)
}

// An itemTest is a race for one item.
type itemTest struct {
	begin    func(s *Set[int])
	actors   []func(s *Set[int])
	outcomes verdicts
}

// run runs it in sets of one shard and of two, in turn.
func (i itemTest) run(t *testing.T) {
	t.Helper()
	litmus[*Set[int]]{
		rounds: 50_000,
		world: func(round int) *Set[int] {
			s := newTestSet(t, Config[int]{Shards: 1 + round%2})
			i.begin(s)
			return s
		},
		actors:   i.actors,
		outcome:  func(s *Set[int], _ int) string { return phaseOf(t, s) },
		outcomes: i.outcomes,
	}.run(t)
}

func addOne(s *Set[int])     { s.Add(1) }
func takeOne(s *Set[int])    { s.TryTake() }
func endOne(s *Set[int])     { s.Done(1) }
func addAndTake(s *Set[int]) { s.Add(1); s.TryTake() }

// TestLitmusAddAgainstAdd: an item is queued once, although two adds find it
// absent.
func TestLitmusAddAgainstAdd(t *testing.T) {
	itemTest{
		begin:  func(*Set[int]) {},
		actors: []func(s *Set[int]){addOne, addOne},
		outcomes: verdicts{
			"1 ready, 0 processing, 0 misused": certain,
		},
	}.run(t)
}

// TestLitmusDoneAgainstAdd: the Add comes before the Done and marks the item
// dirty, or after it and makes it ready again. In any case the item runs once
// more (C2, C3).
func TestLitmusDoneAgainstAdd(t *testing.T) {
	itemTest{
		begin:  addAndTake,
		actors: []func(s *Set[int]){endOne, addOne, addOne},
		outcomes: verdicts{
			"1 ready, 0 processing, 0 misused": certain,
		},
	}.run(t)
}

// TestLitmusGetAgainstAdd: the Add comes before the Get and is served by that
// run, or after it and asks for another, which the Done shows (C2).
func TestLitmusGetAgainstAdd(t *testing.T) {
	set := lasting(t, Config[int]{Shards: 2})
	litmus[*Set[int]]{
		rounds: 50_000,
		world: func(round int) *Set[int] {
			s := set(round)
			s.Add(1)
			return s
		},
		actors: []func(s *Set[int]){takeOne, addOne},
		outcome: func(s *Set[int], _ int) string {
			before := phaseOf(t, s)
			s.Done(1)
			return before + "; after Done: " + phaseOf(t, s)
		},
		after: func(s *Set[int]) { finish(s) },
		outcomes: verdicts{
			"0 ready, 1 processing, 0 misused; after Done: 0 ready, 0 processing, 0 misused": certain,
			"0 ready, 1 processing, 0 misused; after Done: 1 ready, 0 processing, 0 misused": certain,
		},
	}.run(t)
}

// TestLitmusExclusion: of two Gets, one has the item (C1), also where it is
// added again at that moment.
func TestLitmusExclusion(t *testing.T) {
	itemTest{
		begin:  addOne,
		actors: []func(s *Set[int]){takeOne, takeOne, addOne},
		outcomes: verdicts{
			"0 ready, 1 processing, 0 misused": certain,
		},
	}.run(t)
}

// TestLitmusDoneAgainstDone: of two Dones of one run, one is ignored, dirty or
// not (C15).
func TestLitmusDoneAgainstDone(t *testing.T) {
	itemTest{
		begin:  addAndTake,
		actors: []func(s *Set[int]){endOne, endOne},
		outcomes: verdicts{
			"0 ready, 0 processing, 1 misused": certain,
		},
	}.run(t)
	itemTest{
		begin:  func(s *Set[int]) { addAndTake(s); addOne(s) },
		actors: []func(s *Set[int]){endOne, endOne},
		outcomes: verdicts{
			"1 ready, 0 processing, 1 misused": certain,
		},
	}.run(t)
}

// TestLitmusSecondDoneAgainstGet: a second Done of an earlier run comes while
// the item is handed out again. It is ignored, or ends the new run, which it
// cannot tell from its own. The Done that was owed is then the one too many
// (C15).
func TestLitmusSecondDoneAgainstGet(t *testing.T) {
	itemTest{
		begin:  addOne,
		actors: []func(s *Set[int]){takeOne, endOne},
		outcomes: verdicts{
			"0 ready, 1 processing, 1 misused": certain,
			"0 ready, 0 processing, 0 misused": certain,
			"1 ready, 0 processing, 1 misused": forbidden,
		},
	}.run(t)
}

// TestLitmusDoneAgainstStranger: a second Done comes while the first one frees
// the item's entry, and another item gets it. That does not end the other's run
// (C15).
func TestLitmusDoneAgainstStranger(t *testing.T) {
	itemTest{
		begin: addAndTake,
		actors: []func(s *Set[int]){endOne, func(s *Set[int]) {
			s.Done(1)
			s.Add(2)
			s.TryTake()
		}},
		outcomes: verdicts{
			"0 ready, 1 processing, 1 misused": certain,
		},
	}.run(t)
}

// TestLitmusRejected: items that are not equal to themselves are counted
// without a lock.
func TestLitmusRejected(t *testing.T) {
	nan := func(s *Set[float64]) {
		for range 1000 {
			s.Add(math.NaN())
		}
	}
	litmus[*Set[float64]]{
		rounds: 10_000,
		world:  func(int) *Set[float64] { return newTestSet(t, Config[float64]{}) },
		actors: []func(s *Set[float64]){nan, nan},
		outcome: func(s *Set[float64], _ int) string {
			return fmt.Sprintf("%d rejected", s.Stats().Rejected)
		},
		outcomes: verdicts{
			"2000 rejected": certain,
		},
	}.run(t)
}
