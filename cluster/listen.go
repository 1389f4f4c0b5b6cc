package cluster

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A listener hears what nodes say: heartbeats and leases. It may miss some, as
// they are repeated.
//
// One server has its consumer, and loses it when it stops. The client's own
// ordered consumer recovers from that, but has been seen to stay silent. So the
// listener makes another consumer whenever the client reports an error, or when
// a node has not even heard itself for long.
type listener struct {
	stream jetstream.Stream
	config jetstream.ConsumerConfig
	hear   func(jetstream.Msg)
	lease  time.Duration
	logger *slog.Logger

	// began is when the last consumer was asked for, and failed reports that it
	// had an error since.
	began     time.Time
	failed    atomic.Bool
	consuming jetstream.ConsumeContext
}

// lastOf configures a consumer of the last message of each subject, and of all
// later ones. It ends soon after its node.
func lastOf(subjects ...string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	}
}

// begin makes a consumer, in place of the one before.
func (l *listener) begin(ctx context.Context) error {
	l.began = time.Now()
	c, err := l.stream.CreateConsumer(ctx, l.config)
	if err != nil {
		return err
	}
	l.stop()
	l.failed.Store(false)
	expiry := l.lease / 2
	l.consuming, err = c.Consume(l.hear, jetstream.PullExpiry(expiry), jetstream.PullHeartbeat(expiry/2),
		jetstream.ConsumeErrHandler(func(jetstream.ConsumeContext, error) { l.failed.Store(true) }))
	return err
}

// mend begins again if something is wrong, at most once in half a lease.
func (l *listener) mend(ctx context.Context, silent bool) {
	if !silent && !l.failed.Load() || time.Since(l.began) < l.lease/2 {
		return
	}
	attempt, cancel := context.WithTimeout(ctx, l.lease/2)
	defer cancel()
	if err := l.begin(attempt); err != nil && ctx.Err() == nil {
		l.logger.Warn("the other nodes are not heard", "error", err)
	}
}

// stop ends the consumer. It does not wait.
func (l *listener) stop() {
	if l.consuming != nil {
		l.consuming.Stop()
	}
}
