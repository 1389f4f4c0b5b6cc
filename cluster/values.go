package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ValuesOptions configure [NewValues].
type ValuesOptions[V any] struct {
	// Merge merges a newer value into those before it. Both are its to keep.
	Merge func(pending, next V) (V, error)

	// Encode and Decode make a value bytes, and back. Default to JSON.
	Encode func(V) ([]byte, error)
	Decode func([]byte) (V, error)
}

// Values puts values into a queue with [Options].Values, and merges those of a
// key. All methods are safe for concurrent use, if the options' functions are.
type Values[K comparable, V any] struct {
	node    *Node[K]
	options ValuesOptions[V]
}

// NewValues returns the values of a node's queue. It returns an error that
// lists all faults.
func NewValues[K comparable, V any](node *Node[K], options ValuesOptions[V]) (*Values[K, V], error) {
	var faults []error
	switch {
	case node == nil:
		faults = append(faults, errors.New("cluster: NewValues wants a node"))
	case !node.options.Values:
		faults = append(faults, ErrValues)
	}
	if options.Merge == nil {
		faults = append(faults, errors.New("cluster: ValuesOptions.Merge is nil: want a function"))
	}
	if (options.Encode == nil) != (options.Decode == nil) {
		faults = append(faults, errors.New("cluster: ValuesOptions has one of Encode and Decode: want both or none"))
	}
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

// Handle returns a handler for [Node.Run] that calls handle with the merged
// value of a claim. If decoding or merging fails, the attempt has failed.
func (v *Values[K, V]) Handle(handle func(ctx context.Context, claim Claim[K], value V) error) func(context.Context, Claim[K]) error {
	return func(ctx context.Context, claim Claim[K]) error {
		value, _, err := v.After(claim, 0)
		if err != nil {
			return err
		}
		return handle(ctx, claim, value)
	}
}

// After merges the values of a claim, from the oldest, for a sink that has those
// up to sequence, and afterwards those up to [Claim.Sequence]. If there are none,
// ok is false. The handler should return an error of decoding or merging.
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
