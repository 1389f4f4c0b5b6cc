package contract

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// owners has a word for each key, which a worker sets while it processes the
// key. If the word is set already, exclusion is broken.
type owners struct {
	words   []atomic.Bool
	clashes atomic.Int64
}

func newOwners(keys int) *owners { return &owners{words: make([]atomic.Bool, keys)} }

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

func newLoad(shards int) *load {
	const keys = 24 // few, so that most adds find their key ready or in processing
	return &load{q: newQueue[int](shards), keys: keys, owners: newOwners(keys)}
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

// A worker that ends without Done keeps its item, and nothing else is affected.
func TestH18WorkerThatDiesWithoutDone(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("lost")
		died := make(chan struct{})
		go func() {
			defer close(died)
			q.Get()
			runtime.Goexit()
		}()
		<-died
		q.Add("lost")
		requireCounts(t, q, 0, 0, 1)
		for range 100 {
			q.Add("other")
			takeItem(t, q, "other")
			q.Done("other")
		}
		q.ShutDown()
		requireGetSaysShutdown(t, q)
		requireCounts(t, q, 0, 0, 1)
	})
}

// Second and third Dones cause no second run of an item, while nothing is in
// processing but items are ready or become ready.
func TestC1ExclusionWithSecondDones(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		const keys, workers = 64, 4
		q := newQueue[int](shards)
		q.Add(0)
		misused := uint64(0)
		for round := range scaled(3_000, 300) {
			held := takeAll(t, q)
			require.Len(t, held, len(unique(held)), "handed out twice")
			require.Equal(t, len(held), q.Stats().Processing)
			together(workers, func(worker int) {
				for i := worker; i < len(held); i += workers {
					q.Done(held[i])
					q.Add((held[i]*31 + round) % keys)
					q.Done(held[i])
					q.Done(held[i])
				}
				q.Add(worker)
			})
			misused += uint64(2 * len(held))
			require.Equal(t, misused, q.Stats().Misused)
			require.Zero(t, q.Stats().Processing)
		}
	})
}

func unique[T comparable](items []T) map[T]bool {
	set := make(map[T]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}

// While one goroutine has an item, no other call hands it out.
func TestC1ItemInProcessingIsNotHandedOut(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		q.Add("held")
		takeItem(t, q, "held")

		q.Add("held")
		q.AddAfter("held", time.Millisecond)
		q.AddAfter("held", -time.Millisecond)
		q.AddRateLimited("held")
		line.pass(time.Hour)
		q.Forget("held")
		requireCounts(t, q, 0, 0, 1)
		q.ShutDown()
		requireCounts(t, q, 0, 0, 1)

		q.Done("held")
		takeItem(t, q, "held")
		q.Done("held")
		requireGetSaysShutdown(t, q)
	})
}
