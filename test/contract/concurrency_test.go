package contract

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

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

// owners has a word for each key, which a worker sets while it processes the
// key. If the word is set already, exclusion is broken.
type owners struct {
	words   []atomic.Bool
	clashes atomic.Int64
}

func (o *owners) enter(key int) { o.count(o.words[key].CompareAndSwap(false, true)) }

func (o *owners) leave(key int) { o.count(o.words[key].CompareAndSwap(true, false)) }

func (o *owners) count(ok bool) {
	if !ok {
		o.clashes.Add(1)
	}
}

// A load adds and processes a few keys of one queue in many goroutines.
type load struct {
	q      *shardq.Queue[int]
	keys   int
	owners *owners
	served atomic.Int64
}

// produce adds keys in all ways. In between it misuses the queue, by Dones of
// keys that are delayed for an hour or were never added. It stops some time
// after a shutdown began.
func (h *load) produce(seed, adds int) {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for late := 0; adds > 0 && late < 50; adds-- {
		if h.q.ShuttingDown() {
			late++
		}
		key := random.IntN(h.keys)
		switch random.IntN(8) {
		case 0:
			h.q.AddAfter(key, time.Duration(random.IntN(2000))*time.Microsecond)
		case 1:
			h.q.AddRateLimited(key)
			h.q.Forget(key)
		case 2:
			h.q.AddAfter(h.keys+key, time.Hour)
			h.q.Done(h.keys + key)
		case 3:
			h.q.Done(-key - 1)
			runtime.Gosched()
		default:
			h.q.Add(key)
		}
	}
}

// serve processes one item, or reports that the queue is shut down. However
// mind ends, the item is Done.
func (h *load) serve(mind func()) (shutdown bool) {
	key, shutdown := h.q.Get()
	if shutdown {
		return true
	}
	defer h.q.Done(key)
	h.owners.enter(key)
	defer h.owners.leave(key)
	h.served.Add(1)
	mind()
	return false
}

func (h *load) consume() {
	for !h.serve(runtime.Gosched) {
	}
}

// consumeMortally is consume by one goroutine after the other. Each ends by a
// panic or Goexit after some items.
func (h *load) consumeMortally() {
	shutdown := false
	for life := 0; !shutdown; life++ {
		died := make(chan struct{})
		go func() {
			defer close(died)
			defer func() { _ = recover() }()
			shutdown = h.consumeUntilDeath(life)
		}()
		<-died
	}
}

func (h *load) consumeUntilDeath(life int) (shutdown bool) {
	for age := 0; !shutdown; age++ {
		shutdown = h.serve(func() {
			switch {
			case age < 3:
			case life%2 == 0:
				panic("a worker's own fault")
			default:
				runtime.Goexit()
			}
		})
	}
	return shutdown
}

// run starts producers and consumers, calls stop in the middle, and waits until
// all have returned.
func (h *load) run(adds int, consume, stop func()) {
	var consumers, producers sync.WaitGroup
	for range 6 {
		consumers.Go(consume)
	}
	for seed := range 4 {
		producers.Go(func() { h.produce(seed, adds) })
	}
	stop()
	producers.Wait()
	h.q.ShutDown()
	consumers.Wait()
}

func (h *load) requireSound(t *testing.T) {
	t.Helper()
	require.Zero(t, h.owners.clashes.Load(), "two workers at one key")
	require.NotZero(t, h.served.Load())
	requireCounts(t, h.q, 0, 0, 0)
}

// Many producers share a small capacity: all are admitted, and the limit always
// holds.
func TestC40BoundHoldsUnderLoad(t *testing.T) { forEachShardCount(t, checkBoundUnderLoad) }

func checkBoundUnderLoad(t *testing.T, shards int) {
	const capacity, producers, each = 4, 8, 500
	q := shardq.MustNew(shardq.Options[int]{Shards: shards, Capacity: capacity})
	var producing, consuming sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				require.NoError(t, q.AddContext(context.Background(), p*each+i, shardq.AddOptions{}))
			}
		})
	}
	var mu sync.Mutex
	var seen []int
	for range 3 {
		consuming.Go(func() {
			for item := range q.Items(context.Background()) {
				stats := q.Stats() // with one shard, a reading of one moment
				if held := stats.Ready + stats.Processing; shards == 1 && held > capacity {
					t.Errorf("%d items are held", held)
				}
				mu.Lock()
				seen = append(seen, item)
				mu.Unlock()
			}
		})
	}
	producing.Wait()
	q.ShutDownWithDrain()
	consuming.Wait()
	slices.Sort(seen)
	require.Len(t, slices.Compact(seen), producers*each)
	require.Zero(t, q.Stats().OverCapacity)
}

// H22: deadlines are set while the driver becomes idle, runs, or has just
// become idle. In a bubble, time stands while any goroutine can run. So an item
// that is more than a tick late was forgotten until a later deadline.
func TestH22AddRacingTheDriver(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const producers = 6
		n := scaled(5_000, 800)
		deadlines := make([]time.Time, producers*n)
		q := newQueue[int](shards)
		var group sync.WaitGroup
		for producer := range producers {
			random := rand.New(rand.NewPCG(uint64(producer), 7))
			group.Go(func() {
				for item := producer * n; item < (producer+1)*n; item++ {
					delay := time.Duration(1+random.IntN(4)) * tick
					deadlines[item] = time.Now().Add(delay)
					q.AddAfter(item, delay)
					// Whole ticks, so that this goroutine wakes with the timer.
					time.Sleep(time.Duration(random.IntN(5)) * tick)
				}
			})
		}
		var early, late atomic.Int32
		for range producers * n {
			item, _ := q.Get()
			lateness := time.Since(deadlines[item])
			if lateness < 0 {
				early.Add(1)
			}
			if lateness > tick {
				late.Add(1)
			}
			q.Done(item)
		}
		group.Wait()
		require.Zero(t, early.Load(), "early")
		require.Zero(t, late.Load(), "late")
		synctest.Wait()
		requireCounts(t, q, 0, 0, 0)
	})
}

func newOwners(keys int) *owners { return &owners{words: make([]atomic.Bool, keys)} }

func newLoad(shards int) *load {
	const keys = 24 // few, so that most adds find their key ready or in processing
	return &load{q: newQueue[int](shards), keys: keys, owners: newOwners(keys)}
}

func TestC1ExclusionUnderLoad(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		h := newLoad(shards)
		h.run(scaled(100_000, 8_000), h.consume, func() {})
		h.requireSound(t)
	})
}

func TestC1ExclusionThroughShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(40, 10) {
			h := newLoad(shards)
			h.run(math.MaxInt, h.consume, func() {
				for h.served.Load() < 200 {
					runtime.Gosched()
				}
				together(3, func(i int) {
					if i == 0 {
						h.q.ShutDownWithDrain()
					}
					h.q.ShutDown()
				})
			})
			h.requireSound(t)
		}
	})
}

func TestH18WorkersThatPanicOrGoexit(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		h := newLoad(shards)
		h.run(scaled(20_000, 3_000), h.consumeMortally, func() {})
		h.requireSound(t)
	})
}

// The work moves from shard to shard: the next item is added before the Done of
// the one before. So there is always an item, and WaitIdle does not return.
func TestC59HoppingItemIsNotOverlooked(t *testing.T) {
	for _, shards := range []int{1, 2, 16} {
		q := newQueue[int](shards)
		ctx, cancel := context.WithCancel(t.Context())
		var hopping atomic.Bool
		hopping.Store(true)
		q.Add(0)
		early := make(chan bool, 1)
		for range 2 {
			go func() {
				for ctx.Err() == nil {
					if q.WaitIdle(ctx) == nil && hopping.Load() {
						select {
						case early <- true:
						default:
						}
						return
					}
				}
			}()
		}
		for hop := range scaled(300_000, 30_000) {
			item, _ := q.Get()
			q.Add(hop + 1)
			q.Done(item)
		}
		hopping.Store(false)
		item, _ := q.Get()
		q.Done(item)
		require.NoError(t, q.WaitIdle(ctx))
		cancel()
		require.Empty(t, early, "WaitIdle returned while an item was held")
	}
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

// H19: a hundred shutdowns of both kinds, in any order, beside all other calls.
func TestC11H19ShutdownStorm(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for range scaled(30, 6) {
			testShutdownStorm(t, shards)
		}
	})
}

func testShutdownStorm(t *testing.T, shards int) {
	q := newQueue[int](shards)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Add(item)
				q.Done(item)
			}
		})
	}
	together(100, func(i int) {
		q.Add(i)
		q.AddAfter(i, time.Duration(i)*time.Millisecond)
		switch i % 4 {
		case 0:
			q.ShutDown()
		case 1:
			q.ShutDownWithDrain()
		case 2:
			q.AddRateLimited(i)
		}
		q.Add(i)
		q.ShuttingDown()
		q.Len()
		q.Done(-i - 1)
	})
	workers.Wait()
	requireCounts(t, q, 0, 0, 0)
	requireGetSaysShutdown(t, q)
}

func TestC14NoGoroutineAfterShutdown(t *testing.T) {
	before := goleak.IgnoreCurrent()
	forEachShardCount(t, func(t *testing.T, shards int) {
		for name, shutDown := range map[string]func(*shardq.Queue[int]){
			"ShutDown":          (*shardq.Queue[int]).ShutDown,
			"ShutDownWithDrain": (*shardq.Queue[int]).ShutDownWithDrain,
		} {
			q := newQueue[int](shards)
			for item := range 100 {
				q.AddAfter(item, time.Duration(item)*time.Microsecond)
			}
			q.AddAfter(-1, time.Hour)
			var workers sync.WaitGroup
			for range 3 {
				workers.Go(func() {
					for {
						item, shutdown := q.Get()
						if shutdown {
							return
						}
						q.Done(item)
					}
				})
			}
			shutDown(q)
			workers.Wait()
			require.NoError(t, goleak.Find(before), name)
		}
	})
}

// A shutdown beside the running driver: the timer's function is in the middle
// of a thousand due items. ShutDown returns, and nothing expires afterwards.
func TestC14ShutdownAgainstTheDriver(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for round := range scaled(200, 40) {
			q := newQueue[int](shards)
			for item := range 1000 {
				q.AddAfter(item, time.Millisecond)
			}
			time.Sleep(time.Millisecond) // wakes at the instant of the timer
			for range round {
				q.Len()
			}
			q.ShutDown()
			stats := q.Stats()
			require.EqualValues(t, 1000, stats.Expired+stats.Dropped)
			require.Zero(t, stats.Delayed)
			synctest.Wait()
			require.Equal(t, stats, q.Stats())
		}
	})
}

// The end of a delay by an operator wakes a parked consumer.
func TestC82RetryNowWakesAConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Shards: 2})
		q.AddAfter("a", time.Hour)
		got := make(chan string, 1)
		go func() {
			item, _ := q.Get()
			got <- item
		}()
		synctest.Wait()
		require.True(t, q.Inspect().Operator().RetryNow("a"))
		synctest.Wait()
		require.Len(t, got, 1)
		q.Done(<-got)
		q.ShutDown()
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
