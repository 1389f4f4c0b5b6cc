package shard

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRunQueueAgainstModel compares the run queue of a shard with a slice.
func TestRunQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newTestSet[int](t, Config[int]{Shards: 70})
		sh := s.shard(69) // in the second word of ready bits
		ids := map[int]uint32{}
		var want []int
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if got := readyItems(t, sh); !slices.Equal(got, want) || int(sh.ready.fifo.length) != len(want) {
					t.Fatalf("the FIFO holds %v, length %d, not %v", got, sh.ready.fifo.length, want)
				}
				if s.anyReady() != (len(want) > 0) || s.readyWord(0) != 0 {
					t.Fatalf("with %d ready items: %b", len(want), s.readyWord(1))
				}
			},
			"push": func(*rapid.T) {
				item := len(ids)
				id, e := sh.entryFor(item, &address{hash: uint32(s.hash(item))})
				e.setPhase(ready)
				ids[item] = id
				sh.push(id, e)
				want = append(want, item)
			},
			"take": func(t *rapid.T) {
				item, _, _, ok := sh.take(&sh.ready, false)
				if ok != (len(want) > 0) || ok && item != want[0] {
					t.Fatalf("the FIFO gave item %d, %v, not the first of %v", item, ok, want)
				}
				want = want[min(1, len(want)):]
			},
			"pull": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("there is nothing to pull")
				}
				place := rapid.IntRange(0, len(want)-1).Draw(t, "place")
				id := ids[want[place]]
				sh.pull(id, sh.table.at(id))
				want = slices.Delete(want, place, place+1)
			},
		})
	})
}
