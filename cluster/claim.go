package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/hold"
	"github.com/shardq/shardq/worker"
)

// A Claim is a handler's right to work on a key, until the handler returns.
type Claim[K comparable] struct {
	Key K
	run *run[K]
}

// A Fence is a fencing token: each owner of a partition has a greater epoch
// than the previous owner. A sink that refuses epochs less than the partition's
// greatest accepts nothing from a node that has lost the partition.
type Fence struct {
	Partition int
	Epoch     uint64
}

// A FenceError is what a handler returns, perhaps wrapped, when its sink refuses a
// write because it has seen a greater epoch. If no other node has the partition, as
// after servers were restored from a backup, the partition gets a greater epoch,
// and the key runs again. The attempt does not count.
type FenceError struct {
	Epoch uint64 // the greatest that the sink has seen of the partition
}

func (e *FenceError) Error() string {
	return fmt.Sprintf("cluster: the sink has seen epoch %d", e.Epoch)
}

// Fence returns the fence of the claim's partition.
func (c Claim[K]) Fence() Fence {
	return Fence{c.run.partition.lease.Partition, c.run.partition.lease.Epoch}
}

// Attempt returns the number of the attempt on all nodes, from 1.
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

// Values returns the values that the run serves, oldest first. If the run is a
// repetition, the sink may have some of them: [Values.After] merges the others.
func (c Claim[K]) Values() []Value { return c.run.values() }

type run[K comparable] struct {
	key       K
	claim     worker.Claim[K] // of the node's queue
	partition *partition[K]
	messages  []hold.Message[jetstream.Msg] // that the run serves, oldest first
	began     time.Time
	cancel    context.CancelCauseFunc // of the handler's context: the node's mu guards it
	keep      bool                    // the messages stay: no dead letter could be written, or the epoch is too low
}

// judge turns a handler's FenceError into another run, unless the lease is lost.
func (r *run[K]) judge(err error) error {
	f, is := errors.AsType[*FenceError](err)
	if p := r.partition; is && f.Epoch > p.lease.Epoch && p.ctx.Err() == nil {
		p.node.ofKeys.warn("fence", "a write is refused: if no other node has the partition, its epoch is raised", err)
		select {
		case p.seen <- f.Epoch:
		default: // keep is about to look
		}
		r.keep = true
		return worker.RequeueAfter(keepFor)
	}
	return err
}

// Headers returns the headers that [Options].Inject wrote: with [Options].Values
// those of all adds that the run serves, the oldest first, otherwise those of
// the last add. Do not change them.
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

// ValuesOptions configure [NewValues].
type ValuesOptions[V any] struct {
	// Merge merges a newer value into the merged earlier ones. It may change
	// and keep both.
	Merge func(pending, next V) (V, error)

	// Encode turns a value into bytes, and Decode bytes into a value. Both
	// default to JSON.
	Encode func(V) ([]byte, error)
	Decode func([]byte) (V, error)
}

// Values puts values into a queue with [Options].Values, and merges those of a
// key. All methods are safe for concurrent use, if the options' functions are.
type Values[K comparable, V any] struct {
	node    *Node[K]
	options ValuesOptions[V]
}

// NewValues returns the values of a node's queue.
func NewValues[K comparable, V any](node *Node[K], options ValuesOptions[V]) (*Values[K, V], error) {
	var faults []error
	fault := func(is bool, err error) {
		if is {
			faults = append(faults, err)
		}
	}
	one := (options.Encode == nil) != (options.Decode == nil)
	fault(node == nil, errors.New("cluster: NewValues wants a node"))
	fault(node != nil && !node.options.Values, ErrValues)
	fault(options.Merge == nil, errors.New("cluster: ValuesOptions.Merge is nil: want a function"))
	fault(one, errors.New("cluster: ValuesOptions has one of Encode and Decode: want both or none"))
	if options.Encode == nil {
		options.Encode = func(value V) ([]byte, error) { return json.Marshal(value) }
	}
	if options.Decode == nil {
		options.Decode = func(data []byte) (value V, err error) { return value, json.Unmarshal(data, &value) }
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	return &Values[K, V]{node, options}, nil
}

// Put adds a value of a key: see [Node.Put].
func (v *Values[K, V]) Put(ctx context.Context, key K, value V) error {
	return v.put(value, func(data []byte) error { return v.node.Put(ctx, key, data) })
}

// PutOnce adds a value that has an id: see [Node.PutOnce].
func (v *Values[K, V]) PutOnce(ctx context.Context, key K, value V, id string) error {
	return v.put(value, func(data []byte) error { return v.node.PutOnce(ctx, key, data, id) })
}

// PutAfter adds a value after a delay: see [Node.PutAfter].
func (v *Values[K, V]) PutAfter(ctx context.Context, key K, value V, delay time.Duration) error {
	return v.put(value, func(data []byte) error { return v.node.PutAfter(ctx, key, data, delay) })
}

func (v *Values[K, V]) put(value V, add func(data []byte) error) error {
	data, err := v.options.Encode(value)
	if err != nil {
		return fmt.Errorf("cluster: encode a value: %w", err)
	}
	return add(data)
}

// Handle returns a handler for [Node.Run] that gets a claim's merged value.
func (v *Values[K, V]) Handle(handle func(ctx context.Context, claim Claim[K], value V) error) func(context.Context, Claim[K]) error {
	return func(ctx context.Context, claim Claim[K]) error {
		value, _, err := v.After(claim, 0)
		if err != nil {
			return err
		}
		return handle(ctx, claim, value)
	}
}

// After merges the values of a claim that come after sequence, from the oldest,
// for a sink that has the others already. If there are none, ok is false.
func (v *Values[K, V]) After(claim Claim[K], sequence uint64) (merged V, ok bool, err error) {
	for _, value := range claim.Values() {
		if value.Sequence <= sequence {
			continue
		}
		next, err := v.options.Decode(bytes.Clone(value.Data))
		if err != nil {
			return merged, false, fmt.Errorf("cluster: decode value %d of the stream: %w", value.Sequence, err)
		}
		if ok {
			if next, err = v.options.Merge(merged, next); err != nil {
				return merged, false, fmt.Errorf("cluster: merge value %d of the stream: %w", value.Sequence, err)
			}
		}
		merged, ok = next, true
	}
	return merged, ok, nil
}
