// Package engine has the engines of this module for package workload: shardq's
// queue, the heap design with which it is compared, and the floor.
package engine

import (
	"context"
	"runtime"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/floor"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/worker"
)

// All returns shardq with its default number of shards and with one, with
// claims, with claims in batches, and the heap design.
func All() []workload.Engine {
	shards := defaultShards()
	return []workload.Engine{Shardq(shards), Shardq(1), claims("claims", shards, 1), claims("batches", shards, 64), Pool(shards), Pool(1), HeapQueue()}
}

func defaultShards() int { return shard.DefaultShards(runtime.GOMAXPROCS(0)) }

// Shardq returns the engine of shardq's queues with a number of shards.
func Shardq(shards int) workload.Engine {
	return workload.Engine{Name: "shardq", Shards: shards, New: func() workload.Queue { return newQueue(shards) }}
}

func newQueue(shards int) *shardq.Queue[string] {
	return shardq.MustNew(shardq.Options[string]{Shards: shards})
}

// Pool returns the engine of a worker.Pool, which ends an item and takes the next one
// at once.
func Pool(shards int) workload.Engine {
	return workload.Engine{Name: "pool", Shards: shards, Works: true, New: func() workload.Queue { return pool{newQueue(shards)} }}
}

type pool struct{ *shardq.Queue[string] }

func (p pool) Work(workers int, handle func(key string)) {
	_ = p.Run(context.Background(), workers, func(_ context.Context, key string) error {
		handle(key)
		return nil
	})
}

func HeapQueue() workload.Engine {
	return workload.Engine{Name: "heapqueue", Shards: 1, New: func() workload.Queue {
		return heapqueue.New(heapqueue.Options[string]{})
	}}
}

func Floor(keys int) workload.Engine {
	shards := defaultShards()
	return workload.Engine{Name: "floor", Shards: shards, New: func() workload.Queue { return floor.New(shards, keys) }}
}

func claims(name string, shards, batch int) workload.Engine {
	return workload.Engine{Name: name, Shards: shards, New: func() workload.Queue {
		q := newQueue(shards)
		if batch == 1 {
			return oneByOne{q}
		}
		return inBatches{q, batch}
	}}
}

type oneByOne struct{ *shardq.Queue[string] }

func (q oneByOne) Taker() func(dst []string) int {
	return func(dst []string) int {
		claim, err := q.Claim(context.Background())
		if err != nil {
			return 0
		}
		_ = claim.Done()
		dst[0] = claim.Item
		return 1
	}
}

type inBatches struct {
	*shardq.Queue[string]
	batch int
}

func (q inBatches) AddAll(keys []string) { q.AddBatch(keys, shardq.AddOptions{}) }

func (q inBatches) AddAllAfter(keys []string, d time.Duration) {
	q.AddBatch(keys, shardq.AddOptions{After: d})
}

func (q inBatches) Taker() func(dst []string) int {
	claims := make([]worker.Claim[string], q.batch)
	return func(dst []string) int {
		n, _ := q.ClaimBatch(context.Background(), claims[:min(len(dst), len(claims))])
		for i := range n {
			dst[i] = claims[i].Item
		}
		_ = q.DoneClaims(claims[:n])
		return n
	}
}
