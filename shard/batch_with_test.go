package shard

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
)

// TestAddBatchWithIsAsManyAddWiths runs one program on two sets, one with
// AddBatchWith and one with as many AddWiths.
func TestAddBatchWithIsAsManyAddWiths(t *testing.T) {
	for name, config := range map[string]Config[float64]{
		"plain": {}, "metrics": {Ages: true, Metrics: true}, "cancels": {Rules: Rules{CancelDelayOnAdd: true}},
		"groups": {Group: func(item float64) string { return []string{"a", "b", "c"}[int(math.Abs(item))%3] }},
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			fake := clock.NewFake(start)
			config.Clock, config.Shards = fake, 1
			if config.Group == nil {
				config.Shards, config.Route = 3, func(item float64) uint64 { return uint64(item) * 7 }
			}
			config.Tick = time.Millisecond
			batch, single := New(config), New(config)
			defer batch.ShutDown()
			defer single.ShutDown()
			item := rapid.Map(rapid.IntRange(0, 150), func(n int) float64 { return float64(n) })
			if config.Group == nil {
				item = rapid.OneOf(item, rapid.Just(math.NaN()))
			}
			both := func(do func(s *Set[float64])) { do(batch); do(single) }
			t.Repeat(map[string]func(*rapid.T){
				"": func(t *rapid.T) {
					a, b := batch.Stats(), single.Stats()
					require.Equal(t, b, a)
					checkSet(t, batch)
				},
				"add with": func(t *rapid.T) {
					items := rapid.SliceOfN(item, 0, 140).Draw(t, "items")
					delay := time.Duration(rapid.IntRange(-1, 30).Draw(t, "ticks")) * time.Millisecond
					d := Delay{
						Duration: delay,
						Policy:   DelayPolicy(rapid.IntRange(0, int(policies)-1).Draw(t, "policy")),
						MaxWait:  time.Duration(rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "max wait")) * time.Millisecond,
						Priority: rapid.SampledFrom([]int{0, 0, 1, -5}).Draw(t, "priority"),
						Retry:    rapid.Bool().Draw(t, "retry"),
						Window:   time.Duration(rapid.SampledFrom([]int{0, 0, 9}).Draw(t, "window")) * time.Millisecond,
					}
					batch.AddBatchWith(items, d)
					for _, item := range items {
						single.AddWith(item, d)
					}
				},
				"get and done": func(t *rapid.T) {
					for range rapid.IntRange(1, 50).Draw(t, "items") {
						if batch.Len() == 0 {
							return
						}
						item, _ := batch.Get()
						other, _ := single.Get()
						if config.Shards == 1 {
							require.Equal(t, other, item)
						}
						both(func(s *Set[float64]) {
							if s == batch {
								s.Done(item)
							} else {
								s.Done(other)
							}
						})
					}
				},
				"step": func(t *rapid.T) {
					fake.Step(time.Duration(rapid.IntRange(-5, 20).Draw(t, "milliseconds")) * time.Millisecond)
				},
				"shut down": func(t *rapid.T) {
					if rapid.IntRange(0, 20).Draw(t, "dice") == 0 {
						both((*Set[float64]).ShutDown)
					}
				},
			})
		}))
	}
}
