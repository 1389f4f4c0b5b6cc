package main

import (
	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// ours are the queues of this module: what is to be fast, and its baseline.
func ours[T comparable]() []workload.Engine[T] { return engine.Both[T]() }

// measured are ours and the peer.
func measured[T comparable]() []workload.Engine[T] {
	return append(ours[T](), compare.ClientGo[T]())
}

// essential are the engines for sizes at which each of them takes its time.
func essential[T comparable]() []workload.Engine[T] {
	return []workload.Engine[T]{engine.Shardq[T](engine.DefaultShards()), compare.ClientGo[T]()}
}

// defaultShardq and oneShard are the names of shardq's two subjects.
var (
	defaultShardq = engineName("shardq", engine.DefaultShards())
	oneShard      = engineName("shardq", 1)
)

const baseline = "heapqueue"

// ratioColumns are the subjects that are put in ratio to the peer.
var ratioColumns = []string{defaultShardq, oneShard, baseline}
