package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// A target is a kind of queue on which the cases are tried.
type target struct {
	name   string // for -targets
	title  string // in tables
	engine queueEngine
	// shards is the number of shards, for shardq.
	shards int
	// slow says that one round is enough.
	slow bool
}

type queueEngine int

const (
	ours queueEngine = iota
	clientGo
	controllerRuntime
)

// targets returns all targets, in the order of the columns.
func targets() []target {
	shards := engine.DefaultShards()
	return []target{
		{name: "shardq", title: fmt.Sprintf("shardq, %d shards", shards), engine: ours, shards: shards},
		{name: "shardq-1", title: "shardq, 1 shard", engine: ours, shards: 1},
		{name: "client-go", title: "client-go", engine: clientGo},
		{name: "controller-runtime", title: "controller-runtime", engine: controllerRuntime, slow: true},
	}
}

func targetNames() (names []string) {
	for _, t := range targets() {
		names = append(names, t.name)
	}
	return names
}

// queue has the methods of every target.
type queue[T comparable] = workload.DelayingQueue[T]

// setup says how the queue of a case differs from an ordinary one. The zero
// setup is an ordinary one.
type setup struct {
	time timeSource
	// stable turns shardq's stable routing on.
	stable bool
}

// newQueue returns an empty queue.
func newQueue[T comparable](t target, s setup) queue[T] {
	switch t.engine {
	case ours:
		return shardq.MustNew(shardq.Options[T]{Shards: t.shards, StableRouting: s.stable, Clock: s.time.ours})
	case clientGo:
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second)
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[T]{Clock: s.time.theirs})
	default:
		return priorityqueue.New[T]("") // takes no clock
	}
}
