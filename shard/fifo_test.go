package shard

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFIFOAgainstModel compares a shard's FIFO with a slice.
func TestFIFOAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newTestSet[int](t, Config[int]{Shards: 70})
		sh := &s.shards[69] // in the second word of ready bits
		ids := map[int]uint32{}
		var want []int
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if got := readyItems(t, sh); !slices.Equal(got, want) || int(sh.fifo.length) != len(want) {
					t.Fatalf("the FIFO holds %v, length %d, not %v", got, sh.fifo.length, want)
				}
				if s.anyReady() != (len(want) > 0) || s.readyBits[0].Load() != 0 {
					t.Fatalf("with %d ready items: %b", len(want), s.readyBits[1].Load())
				}
			},
			"push": func(*rapid.T) {
				item := len(ids)
				id, e := sh.entryFor(item, uint32(s.hash(item)))
				e.phase = ready
				ids[item] = id
				sh.push(id, e)
				want = append(want, item)
			},
			"pop": func(t *rapid.T) {
				id, e := sh.pop()
				if len(want) == 0 {
					if id != 0 || e != nil {
						t.Fatalf("an empty FIFO gave %d", id)
					}
					return
				}
				if id != ids[want[0]] || e.item != want[0] || e.next != 0 {
					t.Fatalf("the FIFO gave entry %d, %+v, not item %d", id, *e, want[0])
				}
				want = want[1:]
			},
		})
	})
}
