package main

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/limiter"
)

// The names of the engines.
const (
	engineShardq = "shardq"
	engineHeap   = "heap"
)

// An engine is the part of a work queue that the pipeline uses. client-go's
// workqueue has these methods too.
type engine interface {
	Add(key string)
	Get() (key string, shutdown bool)
	Done(key string)
	AddRateLimited(key string)
	Forget(key string)
	NumRequeues(key string) int
	Len() int
	ShutDownWithDrain()
}

// A key whose writes keep failing comes back after firstRetry, then after twice
// that, and so on up to lastRetry. An event of the key that comes meanwhile
// brings it back at once.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Second
)

func newEngine(config config) (engine, error) {
	retries := limiter.NewExponential[string](firstRetry, lastRetry)
	if config.engine == engineHeap {
		return heapqueue.New(heapqueue.Options[string]{RateLimiter: retries}), nil
	}
	return shardq.New(shardq.Options[string]{
		Name:        "ingest",
		Shards:      config.shards,
		RateLimiter: retries,
	})
}

// describeEngine names the engine and how many goroutines use it.
func (s *stage) describeEngine() string {
	name := s.config.engine
	if s.config.shards > 0 {
		name = fmt.Sprintf("%s, %d shards", name, s.config.shards)
	}
	return fmt.Sprintf("%s, %d readers, %d workers", name, s.config.readers, s.config.workers)
}
