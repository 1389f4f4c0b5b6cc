package candidates

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/bench/workload"
)

// contenders are all queues of this package.
func contenders() []queue {
	queues := []queue{
		lockFreeQueue("lock-free", false),
		lockFreeQueue("lock-free-leaking", true),
		stripedQueue("two-maps", func(d *design[string]) { d.store = newTwoMaps[string] }),
	}
	for name, policy := range policies() {
		queues = append(queues, stripedQueue("policy-"+name, func(d *design[string]) { d.policy = policy }))
	}
	for name, parking := range parkings() {
		queues = append(queues, stripedQueue("parking-"+name, func(d *design[string]) { d.parking = parking }))
	}
	return queues
}

// TestContendersKeepTheirItems checks that no queue loses items, or hands one
// to two workers. Otherwise its speed would mean nothing.
func TestContendersKeepTheirItems(t *testing.T) {
	for _, q := range contenders() {
		t.Run(q.name, func(t *testing.T) { testKeepsItems(t, q.new()) })
	}
}

// testKeepsItems has producers increment the version of each key before they
// add it. Workers read the version of the key that they have. In the end, a
// worker must have seen the last version of each.
func testKeepsItems(t *testing.T, q workload.Queue[string]) {
	const producers, workers, keys, rounds = 4, 4, 16, 2000
	var versions, seen, holders [keys]atomic.Int64
	var shared atomic.Int64
	index := map[string]int{}
	for i := range keys {
		index[fmt.Sprint(i)] = i
	}

	var adding, working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
				i := index[item]
				if holders[i].Add(1) > 1 {
					shared.Add(1)
				}
				seen[i].Store(versions[i].Load())
				holders[i].Add(-1)
				q.Done(item)
			}
		})
	}
	for p := range producers {
		adding.Go(func() {
			for round := range rounds {
				i := (round*7 + p) % keys
				versions[i].Add(1)
				q.Add(fmt.Sprint(i))
			}
		})
	}
	adding.Wait()
	q.ShutDown()
	working.Wait()

	require.Zero(t, shared.Load(), "items that two workers had at once")
	for i := range keys {
		require.Equal(t, versions[i].Load(), seen[i].Load(), "last version of key %d", i)
	}
	require.Zero(t, q.Len())
}
