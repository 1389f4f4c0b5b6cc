package cluster

import (
	"context"
	"sync"
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
	js, err := n.options.jetStream(n.connection, jetstream.WithPublishAsyncTimeout(moveTime))
	if err != nil {
		return nil, err
	}
	moving := make(chan moved, publishWindow)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for m := range moving {
			n.settleMove(m)
		}
	}()
	expiry := n.options.Lease / 2
	consuming, err := c.Consume(func(m jetstream.Msg) {
		if stored, err := n.move(js, m); err == nil {
			moving <- moved{m, stored}
		} else {
			_ = m.NakWithDelay(fullDelay)
		}
	}, jetstream.PullMaxMessages(publishWindow/2), jetstream.PullExpiry(expiry), jetstream.PullHeartbeat(expiry/2))
	if err != nil {
		close(moving)
		return nil, err
	}
	watching, stopWatching := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { n.watchDue(watching) })
	return func() {
		stopWatching()
		watch.Wait()
		consuming.Stop()
		<-consuming.Closed()
		close(moving)
		<-finished
		js.CleanupPublisher()
	}, nil
}

// fullDelay is how long a due key waits that could not be moved, because the
// queue is full.
const fullDelay = time.Second

// moveTime is how long a node waits for the answer to a move. It is much
// shorter than the time in which the servers recognize the second move of a
// value, so that a value whose answer is lost is stored once.
const moveTime = 2 * time.Second

// move publishes a due key as pending.
func (n *Node[K]) move(js jetstream.JetStream, m jetstream.Msg) (jetstream.PubAckFuture, error) {
	subject, id := names.SplitID(m.Subject())
	partition, token, _, err := names.Parse(subject)
	if err != nil {
		return nil, err
	}
	pending := n.workMessage(partition, token, priorityOf(m.Headers()))
	carry(pending.Header, m.Headers())
	if id == "" {
		return publishAsync(js, pending)
	}
	pending.Data = m.Data()
	return publishAsync(js, pending, jetstream.WithMsgID(names.WithID(token, id)))
}

// A moved key is being stored as pending.
type moved struct {
	due    jetstream.Msg
	stored jetstream.PubAckFuture
}

// settleMove acknowledges a due key when it is stored. A key that finds its
// partition full is due once more in a second. It must not wait as a message
// that the consumer has delivered: these are limited, so that it would stop the
// keys of other partitions.
func (n *Node[K]) settleMove(m moved) {
	select {
	case <-m.stored.Ok():
		_ = m.due.Ack()
	case err := <-m.stored.Err():
		if isFull(err) && n.postponeDue(m.due) == nil {
			_ = m.due.Ack()
			return
		}
		_ = m.due.NakWithDelay(fullDelay)
	}
}

// postponeDue schedules a due key again.
func (n *Node[K]) postponeDue(m jetstream.Msg) error {
	subject, id := names.SplitID(m.Subject())
	partition, token, _, err := names.Parse(subject)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), moveTime)
	defer cancel()
	at := n.now().Add(fullDelay)
	if id != "" {
		token = names.WithID(token, id)
	}
	again := n.scheduleMessage(partition, token, at, priorityOf(m.Headers()))
	carry(again.Header, m.Headers())
	if id == "" {
		return n.schedule(ctx, again, at)
	}
	again.Data = m.Data()
	return n.publish(ctx, again) // one that was stored already is replaced
}
