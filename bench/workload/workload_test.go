package workload_test

import (
	"slices"
	"testing"
	"time"

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
		counted := workload.Disorder{RankErrors: make([]int, len(out)), Skips: make([]int, len(out))}
		for i := range out {
			for j := i + 1; j < len(out); j++ {
				if out[j] < out[i] { // i was handed out before j, which is older
					counted.RankErrors[i]++
					counted.Skips[j]++
				}
			}
		}
		slices.Sort(counted.RankErrors)
		slices.Sort(counted.Skips)
		assert.Equal(r, counted, workload.MeasureDisorder(out))
	})
}

func TestAStrictQueueHasNoDisorder(t *testing.T) {
	keys := workload.Strings(5000)
	for _, e := range []workload.Engine{engine.HeapQueue(), engine.Shardq(1)} {
		d := workload.MeasureDisorder(workload.OrderOf(e.New(), keys, 100, 4))
		assert.Zero(t, d.RankErrors[4999], e.Name)
		assert.Zero(t, d.Skips[4999], e.Name)
	}
}

func TestEveryEngineCarriesTraffic(t *testing.T) {
	const items = 2000
	keys := workload.Strings(1024)
	load := workload.Load{Producers: 2, Consumers: 2, Warmup: 100, Items: items}
	for _, e := range append(engine.All(), engine.Floor(len(keys))) {
		t.Run(e.Name, func(t *testing.T) {
			open := workload.Open(e.New(), workload.Stream(keys), load)
			assert.GreaterOrEqual(t, open.Completed, items)
			closed := workload.Closed(e.New(), keys, load)
			assert.GreaterOrEqual(t, closed.Completed, items)
			delayed := e.New().(workload.DelayingQueue)
			assert.Positive(t, workload.DelayedCycle(delayed, keys, workload.Delays(len(keys), 5*time.Millisecond), 2))
		})
	}
}

func TestNothingIsEarly(t *testing.T) {
	keys := workload.Strings(100)
	for _, e := range engine.All() {
		late := workload.Lateness(e.New().(workload.DelayingQueue), keys, workload.Delays(len(keys), 20*time.Millisecond))
		assert.GreaterOrEqual(t, late[0], time.Duration(0), e.Name)
	}
}
