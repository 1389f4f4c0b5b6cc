package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// dueConsumer is the consumer of keys whose delay has expired. All nodes that
// work share it.
const dueConsumer = "due"

// moveDue moves keys whose delay has expired to the work stream, until stop is
// called. A key that is moved twice is stored once, and so is a value, which
// has an id.
func (n *Node[K]) moveDue(ctx context.Context) (stop func(), err error) {
	c, err := n.streams.delayed.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: dueConsumer, FilterSubject: n.names.All(names.Due), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: n.options.Lease, MaxDeliver: -1, MaxAckPending: publishWindow,
	})
	if err != nil {
		return nil, err
	}
	moving := make(chan moved, publishWindow)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for m := range moving {
			m.settle()
		}
	}()
	expiry := n.options.Lease / 2
	consuming, err := c.Consume(func(m jetstream.Msg) {
		if stored, err := n.move(m); err == nil {
			moving <- moved{m, stored}
		} else {
			_ = m.NakWithDelay(fullDelay)
		}
	}, jetstream.PullMaxMessages(publishWindow/2), jetstream.PullExpiry(expiry), jetstream.PullHeartbeat(expiry/2))
	if err != nil {
		close(moving)
		return nil, err
	}
	return func() {
		consuming.Stop()
		<-consuming.Closed()
		close(moving)
		<-finished
	}, nil
}

// fullDelay is how long a due key waits that could not be moved, because the
// queue is full.
const fullDelay = time.Second

// move publishes a due key as pending.
func (n *Node[K]) move(m jetstream.Msg) (jetstream.PubAckFuture, error) {
	subject, id := names.SplitID(m.Subject())
	partition, token, _, err := names.Parse(subject)
	if err != nil {
		return nil, err
	}
	pending := n.workMessage(partition, token, priorityOf(m.Headers()))
	carry(pending.Header, m.Headers())
	if id == "" {
		return n.publishAsync(pending)
	}
	pending.Data = m.Data()
	return n.publishAsync(pending, jetstream.WithMsgID(names.WithID(token, id)))
}

// A moved key is being stored as pending.
type moved struct {
	due    jetstream.Msg
	stored jetstream.PubAckFuture
}

// settle acknowledges a due key when it is stored.
func (m moved) settle() {
	select {
	case <-m.stored.Ok():
		_ = m.due.Ack()
	case <-m.stored.Err():
		_ = m.due.NakWithDelay(fullDelay)
	case <-time.After(electionTime): // it is delivered once more
	}
}
