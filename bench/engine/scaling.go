package engine

import (
	"context"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
)

// SideBySide returns the engines of the benchmarks Scaling.
func SideBySide() []workload.Engine {
	of := func(name, op string, wrap func(o shardq.Options[string]) workload.Queue) workload.Engine {
		return workload.Engine{Name: name, Shards: defaultShards(), Op: op, New: func() workload.Queue {
			return wrap(shardq.Options[string]{RateLimiter: neverYet()})
		}}
	}
	return []workload.Engine{
		of("shardq", "", func(o shardq.Options[string]) workload.Queue { return shardq.MustNew(o) }),
		of("metrics", "", func(o shardq.Options[string]) workload.Queue {
			o.Metrics = true
			return shardq.MustNew(o)
		}),
		of("group for each", "", func(o shardq.Options[string]) workload.Queue {
			o.Group = workload.TenantOf
			return shardq.MustNew(o)
		}),
		of("group for all", "", func(o shardq.Options[string]) workload.Queue {
			o.Group = func(string) string { return "all" }
			return shardq.MustNew(o)
		}),
		of("batches", "", func(o shardq.Options[string]) workload.Queue { return inBatches{shardq.MustNew(o), 64} }),
		of("claims", "Get,Done,Add", func(o shardq.Options[string]) workload.Queue { return oneByOne{shardq.MustNew(o)} }),
		of("TryAdd", "Add,new", func(o shardq.Options[string]) workload.Queue {
			o.Capacity = 1 << 30
			return bounded{shardq.MustNew(o)}
		}),
		of("coalescer", "", func(shardq.Options[string]) workload.Queue {
			return coalescer{coalesce.MustNew(coalesce.Options[string, int]{Merge: func(pending, next int) int { return pending + next }})}
		}),
		{Name: "heapqueue", Shards: 1, New: func() workload.Queue {
			return heapqueue.New(heapqueue.Options[string]{RateLimiter: neverYet()})
		}},
		Floor(1 << 21),
	}
}

// neverYet is a limiter whose delays outlast a benchmark.
func neverYet() limiter.Limiter[string] {
	return limiter.NewExponential[string](1000*time.Hour, 2000*time.Hour)
}

type bounded struct{ *shardq.Queue[string] }

func (q bounded) Add(key string) { _ = q.TryAdd(key, shardq.AddOptions{}) }

type coalescer struct {
	*coalesce.Coalescer[string, int]
}

func (c coalescer) Add(key string) { _ = c.Put(key, 1) }

func (c coalescer) Get() (key string, shutdown bool) {
	key, _, err := c.Take(context.Background())
	return key, err != nil
}
