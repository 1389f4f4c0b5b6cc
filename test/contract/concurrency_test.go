package contract

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Of concurrent adds, exactly one is accepted in each window.
func TestC80OneOfConcurrentAdds(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: fake})
		for range 20 {
			var accepted [5]atomic.Int32
			var group sync.WaitGroup
			for n := range 8 {
				group.Go(func() {
					o := shardq.AddOptions{NotAgainWithin: time.Second, After: time.Duration(n%2) * time.Millisecond}
					for item := range accepted {
						if q.TryAdd(item, o) == nil {
							accepted[item].Add(1)
						}
					}
				})
			}
			group.Wait()
			for item := range accepted {
				require.EqualValues(t, 1, accepted[item].Load())
			}
			fake.Step(time.Second)
		}
		q.ShutDown()
	})
}

// No two workers have one key, while others add a few keys in all ways, misuse the
// queue, and shut it down.
func TestC1ExclusionUnderLoad(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(100, 10) {
			const keys = 24 // few, so that most adds find their key ready or in processing
			q := newQueue[int](shards)
			var busy [keys]atomic.Bool
			var served, clashes atomic.Int64
			workers := returned(func() {
				together(6, func(int) {
					for key, shutdown := q.Get(); !shutdown; key, shutdown = q.Get() {
						if served.Add(1); busy[key].Swap(true) {
							clashes.Add(1)
						}
						runtime.Gosched()
						busy[key].Store(false)
						q.Done(key)
					}
				})
			})
			together(5, func(seed int) {
				random := rand.New(rand.NewPCG(uint64(seed), 1))
				for late := 0; late < 50; {
					switch down := q.ShuttingDown(); {
					case down:
						late++
					case served.Load() > 1000 && seed == 0:
						q.ShutDownWithDrain()
					case served.Load() > 1000 && seed == 1:
						q.ShutDown()
					}
					switch key := random.IntN(keys); random.IntN(8) {
					case 0:
						q.AddAfter(key, time.Duration(random.IntN(2000))*time.Microsecond)
					case 1:
						q.AddRateLimited(key)
						q.Forget(key)
					case 2:
						q.AddAfter(keys+key, time.Hour)
						q.Done(keys + key)
					case 3:
						q.Done(-key - 1)
						runtime.Gosched()
					default:
						q.Add(key)
					}
				}
			})
			for q.ShutDown(); !workers(); {
				runtime.Gosched()
			}
			require.Zero(t, clashes.Load(), "two workers at one key")
			requireCounts(t, q, 0, 0, 0)
		}
	})
}

// An inspection beside busy workers lists the items that are in processing
// throughout, none that is not there, and none twice.
func TestC43InspectionsBesideWorkers(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Ages: true})
		const held, items = 16, 64
		q.AddBatch(numbers(held), shardq.AddOptions{})
		takeAll(t, q)
		q.AddBatch(numbers(items)[held:], shardq.AddOptions{})
		workers := returned(func() {
			together(4, func(int) {
				for item := range q.Items(t.Context()) {
					q.Add(item)
					runtime.Gosched() // or an inspection would take many time slices
				}
			})
		})
		for range scaled(2000, 200) {
			seen := map[int]bool{}
			for row := range q.All(stats.Processing) {
				require.False(t, seen[row.Item], "shown twice")
				require.Less(t, row.Item, items, "it was never added")
				require.False(t, row.Since.IsZero())
				seen[row.Item] = true
			}
			for item := range held {
				require.True(t, seen[item], "it is in processing, and not shown")
			}
			runtime.Gosched()
		}
		for item := range held {
			q.Done(item)
		}
		q.ShutDown()
		for !workers() {
			runtime.Gosched()
		}
	})
}

// RefreshGroup overtakes an add that has asked GroupPolicy before and adds its
// item after it, also if the group had no item then: its items wait. A GroupPolicy
// that refreshes another group ends nevertheless.
func TestC70RefreshOvertakesAnAdd(t *testing.T) {
	adds := map[string]func(q *shardq.Queue[string]){
		"Add":      func(q *shardq.Queue[string]) { q.Add("a/2") },
		"AddAfter": func(q *shardq.Queue[string]) { q.AddAfter("a/2", time.Hour) },
		"AddBatch": func(q *shardq.Queue[string]) { q.AddBatch([]string{"a/2"}, shardq.AddOptions{}) },
		"TryAdd":   func(q *shardq.Queue[string]) { _ = q.TryAdd("a/2", shardq.AddOptions{}) },
		"AddContext": func(q *shardq.Queue[string]) {
			_ = q.AddContext(context.Background(), "a/2", shardq.AddOptions{After: time.Hour})
		},
		"RefreshGroup": func(q *shardq.Queue[string]) { q.RefreshGroup("a") },
	}
	for name, add := range adds {
		for _, isNew := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				limit, holds, goOn := 1, 0, make(chan struct{})
				var q *shardq.Queue[string]
				q = shardq.MustNew(shardq.Options[string]{Shards: 1, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy {
					asked := limit
					if holds > 0 && group == "a" {
						holds--
						q.RefreshGroup("b")
						<-goOn
					}
					return shardq.GroupPolicy{Limit: asked}
				}})
				if !isNew {
					q.Add("a/1")
				}
				holds = 2 // the add asks, and asks again
				go add(q)
				synctest.Wait()
				limit = 2
				holds--
				q.RefreshGroup("a")
				holds++
				goOn <- struct{}{}
				synctest.Wait()
				if name == "Add" && isNew {
					require.Equal(t, 1, q.Stats().Throttled)
				}
				close(goOn)
				synctest.Wait()
				for group := range q.Groups() {
					require.Equal(t, 2, group.Limit, "%s of a new group: %t", name, isNew)
				}
				require.Zero(t, q.Stats().Throttled)
			})
		}
	}
}
