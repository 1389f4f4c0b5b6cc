package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/hold"
	"github.com/shardq/shardq/worker"
)

// A Claim is a handler's right to work on a key. It is valid until the handler
// returns.
type Claim[K comparable] struct {
	// Key is the key.
	Key K

	run *run[K]
}

// A Fence names a partition and the epoch of its owner. Each owner of a
// partition has a greater epoch than those before. A sink that keeps the
// greatest epoch of each partition, and refuses a write with a lesser one,
// accepts nothing from a node that has lost the partition and does not know it
// yet. This is a fencing token (M. Kleppmann, "How to do distributed locking",
// 2016).
type Fence struct {
	Partition int
	Epoch     uint64
}

// Fence returns the fence of the claim's partition.
func (c Claim[K]) Fence() Fence { return c.run.partition.fence() }

// Attempt returns the number of the attempt, from 1. It counts the failures of
// the key on all nodes.
func (c Claim[K]) Attempt() int { return c.run.partition.failuresOf(c.Key) + 1 }

// Sequence returns the place in the stream of the newest add that the run
// serves. It grows with each run of the key, unless a run is repeated.
func (c Claim[K]) Sequence() uint64 {
	return c.run.messages[len(c.run.messages)-1].Sequence
}

// A Value is a value of a key.
type Value struct {
	// Sequence is its place in the stream. Later values have greater ones.
	Sequence uint64
	Data     []byte
}

// Values returns the values of the key that the run serves, oldest first. A run
// that is repeated, because the one before did not end well, may have values
// that the sink has. A sink that keeps the Sequence of the last value for each
// key can skip those. [Values] decodes and merges them.
//
// Without [Options].Values there are none.
func (c Claim[K]) Values() []Value { return c.run.values() }

// A run is the processing of a key.
type run[K comparable] struct {
	key K
	// claim is that of the node's queue.
	claim     worker.Claim[K]
	partition *partition[K]
	// messages are those that the run serves, oldest first.
	messages []hold.Message[jetstream.Msg]
	began    time.Time
	// cancel ends the context of the handler. The node's mu guards it.
	cancel context.CancelCauseFunc
	// keep reports that the messages must stay although the run is done: what
	// has to be written before could not be.
	keep bool
}

func (r *run[K]) values() []Value {
	if !r.partition.node.options.Values {
		return nil
	}
	values := make([]Value, len(r.messages))
	for i, m := range r.messages {
		values[i] = Value{m.Sequence, m.Message.Data()}
	}
	return values
}
