package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// In steady state nothing is allocated.
func TestC8NothingIsAllocated(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	groups := func(item int) string { return [...]string{"a", "b", "c"}[item%3] }
	claims, items := make([]worker.Claim[int], 8), numbers(8)
	cycle := func(add func(q *shardq.Queue[int], item int)) func(t *testing.T, q *shardq.Queue[int]) {
		return func(t *testing.T, q *shardq.Queue[int]) {
			for item := range 8 {
				add(q, item)
			}
			for left := q.Len(); left > 0; left-- {
				item, _ := q.Get()
				q.Add(item) // dirty
				q.Done(item)
				item, _ = q.Get()
				q.Done(item)
			}
		}
	}
	with := func(o shardq.AddOptions) func(t *testing.T, q *shardq.Queue[int]) {
		return cycle(func(q *shardq.Queue[int], item int) { q.AddWith(item, o) })
	}
	window := with(shardq.AddOptions{NotAgainWithin: time.Second})
	fake := newFake()
	for name, c := range map[string]struct {
		options shardq.Options[int]
		cycle   func(t *testing.T, q *shardq.Queue[int])
	}{
		"adds":   {shardq.Options[int]{}, cycle((*shardq.Queue[int]).Add)},
		"ages":   {shardq.Options[int]{Metrics: true}, cycle((*shardq.Queue[int]).Add)},
		"groups": {shardq.Options[int]{Group: groups, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 4} }}, cycle((*shardq.Queue[int]).Add)},
		"rates": {shardq.Options[int]{
			Group: groups, Rate: shardq.Rate{PerSecond: 1e9, Burst: 1e6}, GroupPolicy: func(string) shardq.GroupPolicy {
				return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: 1e9, Burst: 1e6}}
			},
		}, cycle((*shardq.Queue[int]).Add)},
		"priorities": {shardq.Options[int]{}, with(shardq.AddOptions{Priority: 3})},
		"windows": {shardq.Options[int]{}, func(t *testing.T, q *shardq.Queue[int]) {
			for item := range 64 { // which stay open, so that the storage does
				q.AddWith(100+item, shardq.AddOptions{NotAgainWithin: 1e6 * time.Hour})
			}
			window(t, q)
			fake.Step(time.Second)
		}},
		"delays": {shardq.Options[int]{}, func(t *testing.T, q *shardq.Queue[int]) {
			for item := range 8 {
				q.AddAfter(item, time.Second)
			}
			fake.Step(time.Second)
			cycle(func(*shardq.Queue[int], int) {})(t, q)
		}},
		"lookups": {shardq.Options[int]{Metrics: true}, func(_ *testing.T, q *shardq.Queue[int]) {
			const large = 1 << 20 // it takes memory as an any
			q.Add(large)
			q.Lookup(large)
			q.Get()
			q.Lookup(large)
			q.Done(large)
		}},
		"claims": {shardq.Options[int]{}, func(t *testing.T, q *shardq.Queue[int]) {
			q.AddBatch(items, shardq.AddOptions{})
			n, err := q.ClaimBatch(t.Context(), claims)
			if err != nil || q.DoneClaims(claims[:n]) != nil {
				t.Fatal(n, err)
			}
			for claim, ok := q.TryClaim(); ok; claim, ok = q.TryClaim() {
				_ = claim.Done()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, shards := range []int{1, 4} {
				c.options.Shards, c.options.Clock = shards, fake
				q := shardq.MustNew(c.options)
				for range 4 { // the storage of an empty shard is released now and then
					c.cycle(t, q)
				}
				require.Less(t, testing.AllocsPerRun(100, func() { c.cycle(t, q) }), 0.5, fmt.Sprint(shards))
				q.ShutDown()
			}
		})
	}
}
