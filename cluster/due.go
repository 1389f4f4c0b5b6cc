package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

const (
	dueConsumer = "due"       // of keys whose delay has expired: all nodes that work share it
	fullDelay   = time.Second // before a key that could not be moved is due again
)

// What a mover moves twice is stored once: a key anyway, a value by its id.
type mover[K comparable] struct {
	node      *Node[K]
	js        jetstream.JetStream
	moving    chan moved // keys that are being stored
	consuming jetstream.ConsumeContext
	gone      chan struct{} // gets a value when the consumer has to begin again
	ended     chan struct{} // closed when no more keys are moved
	watchdog  watchdog
	limit     int       // the bytes of a request, or 0 for the usual ones
	refused   time.Time // when a key could not be postponed
}

type moved struct {
	due    jetstream.Msg
	stored jetstream.PubAckFuture
}

// moveDue moves keys whose delay has ended, until stop. If it cannot, all other
// keys run meanwhile.
func (n *Node[K]) moveDue() (stop func(), err error) {
	v := &mover[K]{node: n, moving: make(chan moved, publishWindow), gone: make(chan struct{}, 1), ended: make(chan struct{})}
	if v.js, err = n.options.jetStream(n.connection); err != nil {
		return nil, err
	}
	watching, stopWatching := context.WithCancel(context.Background())
	var watch, work sync.WaitGroup
	watch.Go(func() { v.read(watching) })
	work.Go(v.settleAll)
	return func() {
		stopWatching()
		watch.Wait()
		v.end()
		n.due.on(gone, nil)
		close(v.ended)
		work.Wait()
		v.js.CleanupPublisher()
	}, nil
}

// read is to the delayed keys what that of a partition is to its keys.
func (v *mover[K]) read(ctx context.Context) {
	due := v.node.due
	due.on(acquired, nil)
	for again := false; ctx.Err() == nil; _ = pause(ctx, due.wait()) {
		if err := v.open(ctx, again); err != nil {
			if ctx.Err() == nil {
				due.on(failed, err)
			}
			continue
		}
		due.on(opened, nil)
		if v.follow(ctx) {
			again = true
			v.end()
			due.on(broke, nil)
		}
	}
}

// open has what other nodes have taken come twice only if something was lost.
func (v *mover[K]) open(ctx context.Context, again bool) error {
	n := v.node
	ctx, cancel := context.WithTimeout(ctx, n.options.Lease)
	defer cancel()
	err := patiently(ctx, passes, v.begin)
	if err == nil && again {
		_, err = n.js.ResetConsumerToSequence(ctx, n.names.DelayedStream(), dueConsumer, 1)
	}
	return err
}

func (v *mover[K]) begin(ctx context.Context) error {
	n := v.node
	v.end()
	c, err := n.streams.delayed.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: dueConsumer, FilterSubject: n.names.All(names.Due), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: n.options.Lease, MaxDeliver: -1, MaxAckPending: publishWindow,
	})
	if err != nil {
		return err
	}
	consuming, err := n.consume(c, publishWindow/2, v.limit, v.take, func(err error) {
		if isDeleted(err) {
			wake(v.gone)
		}
	})
	if err == nil {
		v.consuming = consuming
	}
	return err
}

func (v *mover[K]) end() {
	if v.consuming != nil {
		v.consuming.Stop()
		<-v.consuming.Closed()
		v.consuming = nil
	}
}

func (v *mover[K]) take(m jetstream.Msg) {
	partition, token, id, err := dueKey(m)
	var stored jetstream.PubAckFuture
	if err == nil {
		pending := v.node.workMessage(partition, token, priorityOf(m.Headers()))
		var once []jetstream.PublishOpt
		if id != "" {
			once = append(once, jetstream.WithMsgID(names.WithID(token, id)))
		}
		stored, err = publishAsync(v.js, copied(pending, m), once...)
	}
	if err != nil {
		v.node.ofKeys.warn("due", "keys that are due are not moved", err)
		delay := fullDelay
		if errors.Is(err, nats.ErrMaxPayload) { // which was lowered since: others go first
			delay = longestPause
		}
		_ = m.NakWithDelay(delay)
		return
	}
	select {
	case v.moving <- moved{m, stored}:
	case <-v.ended:
	}
}

func dueKey(m jetstream.Msg) (partition int, token, id string, err error) {
	subject, id := names.SplitID(m.Subject())
	partition, token, _, err = names.Parse(subject)
	return partition, token, id, err
}

func copied(to *nats.Msg, from jetstream.Msg) *nats.Msg {
	carry(to.Header, from.Headers())
	to.Data = from.Data()
	return to
}

func (v *mover[K]) settleAll() {
	for {
		select {
		case m := <-v.moving:
			v.settle(m)
		case <-v.ended:
			if len(v.moving) == 0 {
				return
			}
		}
	}
}

// settle schedules a key again whose partition is full, or has no leader: it
// would stop the keys of other partitions, as delivered messages are limited.
func (v *mover[K]) settle(m moved) {
	select {
	case <-m.stored.Ok():
		_ = m.due.Ack()
	case err := <-m.stored.Err():
		// If the servers have just refused one, each more would wait for nothing.
		if (isFull(err) || passes(err)) && time.Since(v.refused) > fullDelay {
			if v.node.postponeDue(m.due) == nil {
				_ = m.due.Ack()
				return
			}
			v.refused = time.Now()
		}
		_ = m.due.NakWithDelay(fullDelay)
	}
}

func (n *Node[K]) postponeDue(m jetstream.Msg) error {
	partition, token, id, err := dueKey(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	at := n.now().Add(fullDelay)
	if id == "" {
		return n.schedule(ctx, copied(n.scheduleMessage(partition, token, at, priorityOf(m.Headers())), m), at)
	}
	// One that was stored already is replaced.
	return n.publish(ctx, copied(n.scheduleMessage(partition, names.WithID(token, id), at, priorityOf(m.Headers())), m))
}

// follow returns when the consumer is gone or has lost a key, or with ctx.
func (v *mover[K]) follow(ctx context.Context) (broken bool) {
	ticker := time.NewTicker(v.node.options.Lease)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-v.gone:
			return true
		case <-ticker.C:
			if v.isLost(ctx) {
				return true
			}
		}
	}
}

func (v *mover[K]) isLost(ctx context.Context) bool {
	n := v.node
	ctx, cancel := context.WithTimeout(ctx, n.options.Lease)
	defer cancel()
	oldest, err := n.streams.delayed.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(n.names.All(names.Due)))
	if err != nil || !v.watchdog.isLost(oldest.Sequence, true) {
		return false // none, perhaps
	}
	n.options.Logger.Error("the server does not deliver all keys that are due: they are read again", "oldest", oldest.Sequence)
	v.limit = largest
	return true
}
