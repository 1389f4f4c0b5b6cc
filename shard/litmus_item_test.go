package shard

import (
	"fmt"
	"testing"
)

// phaseOf describes what the set knows of item 1, after all.
func phaseOf(t tester, s *Set[int]) string {
	checkSet(t, s)
	st := s.Core.Stats()
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
			s := newTestSet(t, Config[int]{Settings: Settings{Shards: 1 + round%2}})
			i.begin(s)
			return s
		},
		actors:   i.actors,
		outcome:  func(s *Set[int], _ int) string { return phaseOf(t, s) },
		outcomes: i.outcomes,
	}.run(t)
}

func addOne(s *Set[int]) { s.Add(1) }

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
