package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/shardq/shardq/cluster/internal/names"
)

// PutAfter adds a value of a key after a delay, which the servers keep as those
// of [Node.AddAfter]. It returns as Put does. Each value has its own delay, and
// its place in the order of the key is that of its arrival: values whose delays
// end at nearly the same time may come in either order.
//
// If all nodes end after a value has arrived, and before they know, and stay
// away for more than two minutes, the value may arrive twice.
func (n *Node[K]) PutAfter(ctx context.Context, key K, value []byte, delay time.Duration) error {
	if delay <= 0 {
		return n.Put(ctx, key, value)
	}
	if !n.options.Values {
		return ErrValues
	}
	partition, token, err := n.destination(key)
	if err != nil {
		return err
	}
	id := nuid.Next() // a message of its own, which no other replaces
	m := n.scheduleMessage(partition, names.WithID(token, id), n.now().Add(delay), 0)
	if err = n.fill(ctx, m, value); err == nil {
		err = n.delayed.admit(ctx, n.streams.delayed, n.options.MaxDelayed)
	}
	if err != nil {
		return err
	}
	return n.added(1, n.publish(ctx, m, jetstream.WithMsgID(id)))
}

// scheduleMessage returns the message that has the servers publish another one
// when the key is due.
func (n *Node[K]) scheduleMessage(partition int, token string, at time.Time, priority int) *nats.Msg {
	m := nats.NewMsg(n.names.Key(names.Delay, partition, token))
	m.Header.Set(scheduleHeader, "@at "+at.UTC().Format(time.RFC3339Nano))
	m.Header.Set(targetHeader, n.names.Key(names.Due, partition, token))
	setPriority(m, priority)
	return m
}

// delayedCount is what a node knows of the number of messages in the stream of
// delayed keys. The server cannot refuse one there: a stream with schedules
// cannot discard what is new.
type delayedCount struct {
	mu    sync.Mutex
	asked time.Time
	count uint64
}

// countedFor is how long a node counts by itself before it asks again.
const countedFor = time.Second

// admit returns ErrFull if the stream has as many messages as the limit.
func (d *delayedCount) admit(ctx context.Context, stream jetstream.Stream, limit int64) error {
	if limit == 0 {
		return nil
	}
	d.mu.Lock()
	asks := time.Since(d.asked) >= countedFor
	if asks {
		d.asked = time.Now()
	}
	d.mu.Unlock()
	var info *jetstream.StreamInfo
	if asks {
		var err error
		if info, err = stream.Info(ctx); err != nil {
			info = nil // the add itself will tell what is wrong
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if info != nil {
		d.count = info.State.Msgs
	}
	if d.count >= uint64(limit) {
		return ErrFull
	}
	d.count++
	return nil
}
