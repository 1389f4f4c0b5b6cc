package contract

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// TestC56MergesThatPanicBesideWaits: a Put that has waited for room takes its place
// before Merge is called. All before it may be taken by then, and a Merge behind it
// may panic.
func TestC56MergesThatPanicBesideWaits(t *testing.T) {
	for _, weigh := range []func(int) int{nil, func(int) int { return 1 }} {
		puts := 40_000
		if testing.Short() {
			puts = 5_000
		}
		c := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{
			Capacity: 4, Weight: weigh,
			Merge: func(pending, next int) int {
				switch n := rand.IntN(20); {
				case n == 0:
					panic(errTripped)
				case n < 5:
					runtime.Gosched()
				}
				return pending + next
			},
		})
		wire := &tripwire{}
		var put, taken atomic.Int64
		var producers, consumers sync.WaitGroup
		for producer := range 14 {
			producers.Go(func() {
				for range puts {
					if !wire.trips(func() {
						if producer < 8 {
							require.NoError(t, c.PutContext(context.Background(), "k", 1))
						} else {
							require.NoError(t, c.Put("k", 1))
							for range rand.IntN(30) { // or these would leave the others no room
								runtime.Gosched()
							}
						}
					}) {
						put.Add(1)
					}
				}
			})
		}
		for range 2 {
			consumers.Go(func() {
				for err := error(nil); err == nil; {
					wire.trips(func() {
						var key string
						var value int
						if key, value, err = c.Take(context.Background()); err == nil {
							taken.Add(int64(value))
							c.Done(key)
						}
					})
				}
			})
		}
		producers.Wait()
		c.ShutDown()
		consumers.Wait()
		require.Equal(t, put.Load(), taken.Load())
		require.Zero(t, c.Len())
		require.Zero(t, c.Stats().Values.Weight)
	}
}

// TestC57LeftWaitsForAMerge: a value that a Put is merging when a Drain gives up is
// in what is left, once.
func TestC57LeftWaitsForAMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		merging, goOn := make(chan bool), make(chan bool)
		c := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{Merge: func(pending, next int) int {
			close(merging)
			<-goOn
			return pending + next
		}})
		require.NoError(t, c.Put("a", 1))
		put := returned(func() { assert.NoError(t, c.Put("a", 2)) })
		<-merging
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Drain(ctx, shardq.DrainOptions{})
		var left *shardq.CoalescerDrainError[string, int]
		require.ErrorAs(t, err, &left)
		var entries []shardq.Pending[string, int]
		looked := returned(func() { entries = left.Left() })
		requireStillFalse(t, looked, "the value is with Merge")
		close(goOn)
		requireBecomesTrue(t, looked)
		requireBecomesTrue(t, put)
		require.Equal(t, []shardq.Pending[string, int]{{Key: "a", Value: 3}}, entries)
		require.Equal(t, entries, left.Left())
		require.Zero(t, c.Len())
		require.Zero(t, c.Queue().Len())
	})
}
