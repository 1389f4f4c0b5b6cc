package attempts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/stats"
)

// TestConcurrentWorkers: nothing is lost, whatever the numbers of the workers
// are.
func TestConcurrentWorkers(t *testing.T) {
	r := New()
	var all sync.WaitGroup
	for worker := -2; worker < 10; worker++ {
		all.Go(func() {
			for i := range 600 {
				result := stats.Result(i % stats.Results)
				r.Record(worker, result, time.Duration(i)*time.Millisecond)
				r.RecordGroup(fmt.Sprint("g", i%5), result)
			}
		})
	}
	all.Wait()
	var a stats.Attempts
	r.AddTo(&a)
	for result, h := range a.All() {
		require.EqualValues(t, 1200, h.Count, result)
	}
	groups := r.Groups(100)
	require.Len(t, groups, 5)
	for _, g := range groups {
		require.EqualValues(t, 12*120, g.Total())
		require.Zero(t, g.Missed)
	}
}

// TestGroupsAreBounded compares the counts of many groups with the true ones.
func TestGroupsAreBounded(t *testing.T) {
	r, random, truth := New(), rand.New(rand.NewPCG(1, 2)), map[string]uint64{}
	const attempts = 200_000
	for i := range attempts {
		name := fmt.Sprint("rare", random.IntN(20_000))
		if i > attempts/2 && i%10 == 0 { // they come late, when all places are taken
			name = fmt.Sprint("large", i/10%10)
		}
		truth[name]++
		r.RecordGroup(name, stats.Failed)
	}
	groups := r.Groups(10)
	require.Len(t, r.Groups(1_000_000), stripeCount*perStripe)
	for _, g := range groups {
		require.True(t, strings.HasPrefix(g.Group, "large"), g.Group)
	}
	for _, g := range r.Groups(1_000_000) {
		require.LessOrEqual(t, g.Total(), truth[g.Group])
		require.GreaterOrEqual(t, estimate(&g), truth[g.Group])
	}
}
