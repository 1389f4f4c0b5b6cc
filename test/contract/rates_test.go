package contract

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/testscale"
)

// The bounds of a rate, by counting: the model of the queue computes tokens as
// the code does.
func TestC67C69Bounds(t *testing.T) {
	testscale.Rapid(2000)
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.SampledFrom([]time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second}).Draw(t, "Tick")
		rate := shardq.Rate{
			PerSecond: rapid.SampledFrom([]float64{0.01, 0.3, 0.9, 1, 2.5}).Draw(t, "per tick") / tick.Seconds(),
			Burst:     rapid.IntRange(1, 5).Draw(t, "Burst"),
		}
		longest := rapid.SampledFrom([]int{1, 2, 20}).Draw(t, "longest step")
		fake := newFake()
		o := shardq.Options[string]{Shards: 2, Tick: tick, Clock: fake, Rate: rate}
		if rapid.Bool().Draw(t, "of a group") {
			o.Rate, o.Group = shardq.Rate{}, func(string) string { return "all" }
			o.GroupPolicy = func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: rate} }
		}
		q := shardq.MustNew(o)
		var taken []time.Duration // when
		now := time.Duration(0)
		for range 40 {
			for n := range 65 {
				q.Add(strconv.Itoa(n))
			}
			for claim, ok := q.TryClaim(); ok; claim, ok = q.TryClaim() {
				require.NoError(t, claim.Done())
				taken = append(taken, now)
			}
			step := tick * time.Duration(rapid.IntRange(1, longest).Draw(t, "ticks"))
			fake.Step(step)
			now += step
		}
		within := func(d time.Duration) float64 { return float64(rate.Burst) + rate.PerSecond*d.Seconds() + 1e-6 }
		for i := range taken {
			for j := i; j < min(i+100, len(taken)); j++ {
				if float64(j-i+1) > within(taken[j]-taken[i]+2*tick) {
					t.Fatalf("%d items in %v", j-i+1, taken[j]-taken[i])
				}
			}
		}
		if longest <= 2 {
			require.GreaterOrEqual(t, float64(len(taken)), within(now-3*tick)-1, "a consumer that comes at least every other tick gets all")
		}
	})
}
