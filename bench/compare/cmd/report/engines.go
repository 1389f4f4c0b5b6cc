package main

import (
	// The compiler inlines what a direct import exports. Users import these
	// directly.
	_ "k8s.io/client-go/util/workqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	_ "github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	benchfloor "github.com/shardq/shardq/bench/floor"
	"github.com/shardq/shardq/bench/workload"
)

// ours returns the queues of this module: shardq's and the baseline.
func ours[T comparable]() []workload.Engine[T] { return engine.Both[T]() }

// measured returns ours and the peer.
func measured[T comparable]() []workload.Engine[T] {
	return append(ours[T](), compare.ClientGo[T]())
}

// essential returns the engines for large sizes, where each takes long.
func essential[T comparable]() []workload.Engine[T] {
	return []workload.Engine[T]{engine.Shardq[T](engine.DefaultShards()), compare.ClientGo[T]()}
}

// defaultShardq and oneShard are the names of shardq's two subjects.
var (
	defaultShardq = engineName("shardq", engine.DefaultShards())
	oneShard      = engineName("shardq", 1)
)

const baseline = "heapqueue"

// withClaims returns the measured engines, and shardq's queues with consumers
// that use claims.
func withClaims[T comparable]() []workload.Engine[T] {
	return append(measured[T](), engine.Claims[T](engine.DefaultShards()), engine.Claims[T](1))
}

// These are the names of subjects that are measured beside shardq's two.
var (
	defaultClaims = engineName("claims", engine.DefaultShards())
	oneClaims     = engineName("claims", 1)
)

const (
	theFloor    = "floor"
	floorClaims = "floor-claims"
)

// floors returns the floors for a number of items.
func floors[T comparable](items int) []workload.Engine[T] {
	shards := engine.DefaultShards()
	return []workload.Engine[T]{benchfloor.Engine[T](shards, items), benchfloor.Claims[T](shards, items)}
}

// ratioColumns are the subjects whose ratios to the peer are shown.
var ratioColumns = []string{defaultShardq, oneShard, defaultClaims, oneClaims, inBatches, batchesAfter, baseline}
