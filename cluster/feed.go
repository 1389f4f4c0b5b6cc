package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ownerConsumer is the consumer of a partition's stream.
const ownerConsumer = "owner"

// A feed hands the messages of a partition to its owner, in the order of the
// stream. Whenever it begins, it has the server begin with the oldest message,
// whatever was taken before and not acknowledged. So nothing waits for an owner
// that is gone.
//
// The server numbers what it delivers. A message that got lost on the way, with
// a connection for example, would come later, after newer ones of its key. So
// when a number is missing, the feed begins again.
type feed struct {
	stream jetstream.Stream
	js     jetstream.JetStream
	config jetstream.ConsumerConfig
	pull   []jetstream.PullConsumeOpt
	take   func(m jetstream.Msg, sequence uint64)
	flush  func(context.Context) error
	logger *slog.Logger
	period time.Duration

	mu        sync.Mutex
	consuming jetstream.ConsumeContext
	// last is the number of the last message, and broken reports that the feed
	// has to begin again.
	last           uint64
	broken, closed bool

	watchdog watchdog
}

// newFeed returns a feed of a partition, which has not begun.
func (n *Node[K]) newFeed(partition int, take func(m jetstream.Msg, sequence uint64)) *feed {
	// A request that is waiting when its node freezes has ended before the
	// lease does.
	expiry := n.options.Lease / 2
	return &feed{
		stream: n.streams.work[partition], js: n.js, take: take, flush: n.connection.FlushWithContext,
		logger: n.options.Logger.With("partition", partition), period: n.options.Lease,
		config: jetstream.ConsumerConfig{
			Durable: ownerConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: n.options.Lease, MaxDeliver: -1,
			MaxAckPending: n.options.maxTaken(),
		},
		pull: []jetstream.PullConsumeOpt{
			jetstream.PullMaxMessages(n.options.maxTaken()),
			jetstream.PullExpiry(expiry), jetstream.PullHeartbeat(expiry / 2),
		},
	}
}

// begin begins with the oldest message.
func (f *feed) begin(ctx context.Context) error {
	if f.isClosed() {
		return nil
	}
	c, err := f.stream.CreateOrUpdateConsumer(ctx, f.config)
	if err != nil {
		return err
	}
	if _, err = f.js.ResetConsumerToSequence(ctx, f.stream.CachedInfo().Config.Name, ownerConsumer, 1); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.last, f.broken = 0, false
	f.consuming, err = c.Consume(f.receive, append(f.pull, jetstream.ConsumeErrHandler(f.failed))...)
	return err
}

// receive takes a message, unless one is missing before it.
func (f *feed) receive(m jetstream.Msg) {
	about, err := m.Metadata()
	if err != nil {
		f.logger.Error("a message has no place in the stream", "subject", m.Subject(), "error", err)
		return
	}
	if f.isNext(about.Sequence.Consumer) {
		f.take(m, about.Sequence.Stream)
	}
}

// isNext reports whether no message is missing before the one with the given
// number. A server that has become the consumer's leader may count from a
// lesser number again: what it delivers twice is known.
func (f *feed) isNext(number uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return false
	}
	if number > f.last+1 {
		f.breakLocked()
		return false
	}
	f.last = number
	return true
}

// failed begins again if an operator has deleted the consumer.
func (f *feed) failed(_ jetstream.ConsumeContext, err error) {
	if !isDeleted(err) {
		return // the client repeats its request
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.breakLocked()
}

// isDeleted reports whether a consumer is gone.
func isDeleted(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound)
}

func (f *feed) breakLocked() {
	if !f.broken && !f.closed && f.consuming != nil {
		f.broken = true
		go f.beginAgain()
	}
}

// beginAgain begins again, until it succeeds or the feed is closed.
func (f *feed) beginAgain() {
	f.mu.Lock()
	before := f.consuming
	f.mu.Unlock()
	before.Stop()
	<-before.Closed()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), f.period)
		_ = f.flush(ctx) // the server knows that nobody waits for its last answers
		err := f.begin(ctx)
		if err == nil {
			cancel()
			return
		}
		f.logger.Warn("a partition is not read", "error", err)
		<-ctx.Done()
		cancel()
		if f.isClosed() {
			return
		}
	}
}

func (f *feed) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// close ends the feed. It does not wait.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.consuming != nil {
		f.consuming.Stop()
	}
}
