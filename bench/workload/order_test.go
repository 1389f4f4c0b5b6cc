package workload_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

func TestDisorderIsWhatCountingGives(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		inOrder := make([]int, rapid.IntRange(1, 50).Draw(r, "items"))
		for i := range inOrder {
			inOrder[i] = i
		}
		out := rapid.Permutation(inOrder).Draw(r, "out")
		assert.Equal(r, countDisorder(out), workload.MeasureDisorder(out))
	})
}

// countDisorder compares every pair.
func countDisorder(out []int) workload.Disorder {
	d := workload.Disorder{RankErrors: make([]int, len(out)), Skips: make([]int, len(out))}
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] { // i was handed out before j, which is older
				d.RankErrors[i]++
				d.Skips[j]++
			}
		}
	}
	slices.Sort(d.RankErrors)
	slices.Sort(d.Skips)
	return d
}

func TestAStrictQueueHasNoDisorder(t *testing.T) {
	for _, e := range []workload.Engine[uint64]{engine.HeapQueue[uint64](), engine.Shardq[uint64](1)} {
		for _, consumers := range []int{1, 4} {
			d := workload.MeasureDisorder(workload.OrderOf(e.New(), 5000, 100, consumers))
			assert.Len(t, d.Skips, 5000)
			assert.Zero(t, d.RankErrors[4999], e.Name)
			assert.Zero(t, d.Skips[4999], e.Name)
		}
	}
}

func TestEveryItemComesOutOfManyShardsOnce(t *testing.T) {
	out := workload.OrderOf(engine.Shardq[uint64](16).New(), 5000, 100, 4)
	slices.Sort(out)
	for i, item := range out {
		assert.Equal(t, i, item)
	}
}
