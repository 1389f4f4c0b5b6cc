package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/hold"
	"github.com/shardq/shardq/worker"
)

// A Claim is a handler's right to work on a key. It is valid until the handler
// returns.
type Claim[K comparable] struct {
	Key K
	run *run[K]
}

// A Fence names a partition and the epoch of its owner. Each owner has a
// greater epoch than those before. A sink that keeps the greatest epoch of each
// partition, and refuses a write with a lesser one, accepts nothing from a node
// that has lost the partition. This is a fencing token (M. Kleppmann, "How to
// do distributed locking", 2016).
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
	Sequence uint64 // its place in the stream: later values have greater ones
	Data     []byte
}

// Values returns the values of the key that the run serves, oldest first, if
// the queue has [Options].Values. A run that is repeated may have values that
// the sink has. A sink that keeps the Sequence of the last value for each key
// can skip those. [Values] decodes and merges them.
func (c Claim[K]) Values() []Value { return c.run.values() }

// A run is the processing of a key.
type run[K comparable] struct {
	key       K
	claim     worker.Claim[K] // of the node's queue
	partition *partition[K]
	messages  []hold.Message[jetstream.Msg] // that the run serves, oldest first
	began     time.Time
	// cancel ends the context of the handler. The node's mu guards it.
	cancel context.CancelCauseFunc
	// keep reports that the messages must stay although the run is done: its
	// dead letter could not be written.
	keep bool
}

// Headers returns the headers of the messages that the run serves, oldest
// first: what [Options].Inject wrote into them, beside those of the servers. A
// run that is repeated gets them again. Do not change them.
//
// Without [Options].Values there is one message, that of the last add before
// the run. The adds that it replaced have left no headers.
func (c Claim[K]) Headers() []nats.Header {
	headers := make([]nats.Header, len(c.run.messages))
	for i, m := range c.run.messages {
		headers[i] = m.Message.Headers()
	}
	return headers
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
