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
	"github.com/shardq/shardq/coalesce"
)

// TestC56MergesThatPanicBesideWaits: a Put that has waited for capacity takes
// its place before it calls Merge. By then a worker may have taken all values
// before it, and a later Merge may panic.
func TestC56MergesThatPanicBesideWaits(t *testing.T) {
	for _, weigh := range []func(int) int{nil, func(int) int { return 1 }} {
		puts := scaled(40_000, 5_000)
		c := coalesce.MustNew(coalesce.Options[string, int]{
			Capacity: 4, Weight: weigh,
			Merge: func(pending, next int) int {
				switch n := rand.IntN(20); {
				case n == 0:
					panic(errInjected)
				case n < 5:
					runtime.Gosched()
				}
				return pending + next
			},
		})
		injector := &faultInjector{}
		var put, taken atomic.Int64
		var producers, consumers sync.WaitGroup
		for producer := range 14 {
			producers.Go(func() {
				for range puts {
					if !injector.panics(func() {
						if producer < 8 {
							require.NoError(t, c.PutContext(context.Background(), "k", 1))
						} else {
							require.NoError(t, c.Put("k", 1))
							for range rand.IntN(30) { // or these would leave the others no capacity
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
					injector.panics(func() {
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

// TestC57LeftWaitsForAMerge checks that a Drain that ends early lists the value
// that a Put is merging, once.
func TestC57LeftWaitsForAMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		merging, goOn := make(chan bool), make(chan bool)
		c := coalesce.MustNew(coalesce.Options[string, int]{Merge: func(pending, next int) int {
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
		var left *coalesce.DrainError[string, int]
		require.ErrorAs(t, err, &left)
		var entries []coalesce.Entry[string, int]
		looked := returned(func() { entries = left.Left() })
		requireStillFalse(t, looked, "the value is with Merge")
		close(goOn)
		requireBecomesTrue(t, looked)
		requireBecomesTrue(t, put)
		require.Equal(t, []coalesce.Entry[string, int]{{Key: "a", Value: 3}}, entries)
		require.Equal(t, entries, left.Left())
		require.Zero(t, c.Len())
		require.Zero(t, c.Queue().Len())
	})
}
