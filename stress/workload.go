package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/shardq/shardq"
)

// workload is the plan of one round; its seed determines the rest.
type workload struct {
	seed       uint64
	adds       int
	shards     int
	producers  int
	consumers  int
	processors int
	keys       int
	cancel     bool
}

// draw makes the plan of a round.
func draw(seed uint64, adds int) workload {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(choices ...int) int { return choices[r.IntN(len(choices))] }
	return workload{
		seed:       seed,
		adds:       adds,
		shards:     pick(1, 2, 3, 16, 64, 100),
		producers:  pick(1, 2, 8),
		consumers:  pick(1, 2, 8, 32),
		processors: pick(1, 2, 8),
		keys:       pick(1, 10, 1000, 100_000),
		cancel:     r.IntN(4) == 0,
	}
}

func (w workload) String() string {
	return fmt.Sprintf("seed=%d shards=%d producers=%d consumers=%d processors=%d keys=%d cancel=%t",
		w.seed, w.shards, w.producers, w.consumers, w.processors, w.keys, w.cancel)
}

// run carries the plan out on a new queue and settles the account.
func (w workload) run() (account, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(w.processors))
	queue := shardq.Must(shardq.Options[int]{Shards: w.shards, CancelDelayOnAdd: w.cancel})
	ledger := newLedger(w.keys)

	var consumers, producers sync.WaitGroup
	for range w.consumers {
		consumers.Go(func() { w.consume(queue, ledger) })
	}
	for n := range w.producers {
		producers.Go(func() { w.produce(queue, ledger, uint64(n)) })
	}
	producers.Wait()
	w.awaitDelays(queue)
	queue.ShutDownWithDrain()
	consumers.Wait()
	return ledger.settle(queue)
}

// produce adds its share. Even keys are added in every way; odd keys only with a
// delay, so that whoever gets one can say whether it came too early.
func (w workload) produce(queue *shardq.Queue[int], ledger *ledger, number uint64) {
	r := rand.New(rand.NewPCG(w.seed, number+1))
	zipf := rand.NewZipf(r, 1.1, 1, uint64(w.keys-1))
	for range w.adds / w.producers {
		key := r.IntN(w.keys)
		if r.IntN(2) == 0 {
			key = int(zipf.Uint64())
		}
		delay := time.Duration(r.IntN(5000)) * time.Microsecond
		switch {
		case key%2 == 1:
			if ledger.wantAfter(key, delay) {
				queue.AddAfter(key, delay)
			}
		case r.IntN(10) == 0:
			ledger.want(key)
			queue.AddAfter(key, delay)
		case r.IntN(10) == 0:
			ledger.want(key)
			queue.AddRateLimited(key)
			queue.Forget(key)
		default:
			ledger.want(key)
			queue.Add(key)
		}
	}
}

// consume works until shutdown. Now and then it adds the key it has in hand, and
// says Done once too often.
func (w workload) consume(queue *shardq.Queue[int], ledger *ledger) {
	r := rand.New(rand.NewPCG(w.seed, rand.Uint64()))
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		ledger.begin(key)
		if r.IntN(20) == 0 && key%2 == 0 {
			ledger.want(key)
			queue.Add(key)
			if queue.ShuttingDown() {
				ledger.forgive(key)
			}
		}
		if r.IntN(50) == 0 {
			runtime.Gosched()
		}
		ledger.end(key)
		queue.Done(key)
		if r.IntN(20) == 0 && w.consumers == 1 {
			ledger.extraDones.Add(1) // with one consumer, nobody can have got it since
			queue.Done(key)
		}
	}
}

// awaitDelays returns when nothing waits any more: a shutdown would drop it.
func (w workload) awaitDelays(queue *shardq.Queue[int]) {
	for queue.Stats().Waiting > 0 {
		runtime.Gosched()
	}
}
