package contract

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A ledger counts, for each key, the adds that began, and those that had begun
// when a worker began to process the key. The latter are served.
type ledger struct {
	begun, served []atomic.Int64
}

func newLedger(keys int) *ledger {
	return &ledger{begun: make([]atomic.Int64, keys), served: make([]atomic.Int64, keys)}
}

// add begins an add of key, and returns its number.
func (l *ledger) add(key int) int64 { return l.begun[key].Add(1) }

// work processes items until a shutdown.
func (l *ledger) work(q *shardq.Queue[int]) {
	for {
		key, shutdown := q.Get()
		if shutdown {
			return
		}
		known := l.begun[key].Load()
		runtime.Gosched()
		l.served[key].Store(known) // exclusion: no other worker writes it meanwhile
		q.Done(key)
	}
}

func TestC2EveryAddIsServed(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		const keys = 40
		q := newQueue[int](shards)
		book := newLedger(keys)
		var workers, producers sync.WaitGroup
		for range 4 {
			workers.Go(func() { book.work(q) })
		}
		for seed := range 4 {
			producers.Go(func() { addInAllWays(q, book, seed, scaled(40_000, 5_000)) })
		}
		producers.Wait()
		time.Sleep(time.Second) // of the bubble: it passes when all goroutines are blocked
		synctest.Wait()

		for key := range keys {
			require.Equal(t, book.begun[key].Load(), book.served[key].Load(), "key %d", key)
		}
		requireCounts(t, q, 0, 0, 0)
		q.ShutDown()
		workers.Wait()
	})
}

func addInAllWays(q *shardq.Queue[int], book *ledger, seed, adds int) {
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	for range adds {
		key := random.IntN(len(book.begun))
		book.add(key)
		switch random.IntN(6) {
		case 0:
			q.AddAfter(key, time.Duration(random.IntN(5000))*time.Microsecond)
		case 1:
			q.AddAfter(key, -time.Second)
		case 2:
			q.AddRateLimited(key)
			q.Forget(key)
		default:
			q.Add(key)
		}
		if random.IntN(200) == 0 {
			time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		}
	}
}

// An add that returned before the shutdown began is served. A concurrent one is
// served or counted as dropped.
func TestC2AddsBeforeShutdownAreServed(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(200, 40) {
			testAddsAgainstShutdown(t, shards)
		}
	})
}

func testAddsAgainstShutdown(t *testing.T, shards int) {
	const producers = 3
	q := newQueue[int](shards)
	book := newLedger(producers) // a key for each producer
	var begun atomic.Bool
	landed := make([]int64, producers)
	calls := make([]uint64, producers)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { book.work(q) })
	}
	for key := range producers {
		group.Go(func() {
			for !q.ShuttingDown() {
				number := book.add(key)
				q.Add(key)
				calls[key]++
				if !begun.Load() {
					landed[key] = number
				}
				if number%16 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for range 100 {
		runtime.Gosched()
	}
	begun.Store(true)
	q.ShutDown()
	group.Wait()

	for key := range producers {
		require.GreaterOrEqual(t, book.served[key].Load(), landed[key])
	}
	stats := q.Stats()
	require.Equal(t, calls[0]+calls[1]+calls[2], stats.Added+stats.Deduplicated+stats.Dropped)
	requireCounts(t, q, 0, 0, 0)
}

func TestC3AddOfReadyItemChangesNothing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		for range 5 {
			q.Add("a")
			q.AddAfter("a", 0)
		}
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, "a")
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
		require.EqualValues(t, 1, q.Stats().Added)
		require.EqualValues(t, 9, q.Stats().Deduplicated)
	})
}

func TestC3AddOfReadyItemKeepsItsPlace(t *testing.T) {
	q := newQueue[string](1)
	for _, item := range []string{"a", "b", "a", "c", "b", "a"} {
		q.Add(item)
	}
	require.Equal(t, []string{"a", "b", "c"}, takeAll(t, q))
}

func TestH3ThousandAddsWhileProcessing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		together(10, func(int) {
			for range 100 {
				q.Add("a")
			}
		})
		requireCounts(t, q, 0, 0, 1)

		q.Done("a")
		requireCounts(t, q, 1, 0, 0)
		takeItem(t, q, "a")
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
		require.EqualValues(t, 2, q.Stats().Added)
		require.EqualValues(t, 999, q.Stats().Deduplicated)
	})
}

// Each run adds its item again: a Done clears the mark of an add during
// processing, and the next add sets it again.
func TestC3EachRunCanBeAskedForAgain(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		for range 5 {
			takeItem(t, q, "a")
			q.Add("a")
			q.Done("a")
		}
		takeItem(t, q, "a")
		q.Done("a")
		requireCounts(t, q, 0, 0, 0)
	})
}

func TestC6LenCountsReadyItems(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		require.Zero(t, q.Len())
		q.Add("a")
		q.Add("b")
		q.AddAfter("c", time.Second)
		require.Equal(t, 2, q.Len(), "delayed is not ready")

		held := take(t, q)
		require.Equal(t, 1, q.Len(), "processing is not ready")
		q.Add(held)
		require.Equal(t, 1, q.Len(), "dirty is not ready")
		q.Done(held)
		require.Equal(t, 2, q.Len(), "dirty is ready after Done")

		line.pass(2 * time.Second)
		require.Equal(t, 3, q.Len(), "the delay is over")
		finishAll(t, q)
		require.Zero(t, q.Len())
	})
}

// Items can be delayed and ready, or delayed and in processing, at once. Stats
// counts each of their states.
func TestC6LenOfItemsInTwoStates(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.Add("both")
		q.AddAfter("both", time.Second)
		requireCounts(t, q, 1, 1, 0)
		takeItem(t, q, "both")
		requireCounts(t, q, 0, 1, 1)
		q.Done("both")
		requireCounts(t, q, 0, 1, 0)
		line.pass(2 * time.Second)
		requireCounts(t, q, 1, 0, 0)
	})
}
