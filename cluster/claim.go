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

// A Fence is a fencing token (M. Kleppmann, "How to do distributed locking",
// 2016). Each owner of a partition has a greater epoch than those before. A sink
// that refuses epochs less than the partition's greatest accepts nothing from a
// node that has lost the partition.
type Fence struct {
	Partition int
	Epoch     uint64
}

// Fence returns the fence of the claim's partition.
func (c Claim[K]) Fence() Fence {
	l := c.run.partition.lease
	return Fence{l.Partition, l.Epoch}
}

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
// the queue has [Options].Values. A run may be repeated with values that the
// sink has: [Values.After] merges those that it does not have.
func (c Claim[K]) Values() []Value { return c.run.values() }

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

// Headers returns what [Options].Inject wrote into the messages that the run
// serves, oldest first, beside the headers of the servers. Do not change them.
// Without [Options].Values there is one message: that of the last add.
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
