package cluster

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	ownerConsumer = "owner" // of a partition's stream
	// epochKey is in its metadata: the epoch of the owner that has begun last.
	epochKey = "shardq-epoch"
)

// A feed hands the messages of a partition to its owner, from the oldest. If
// one of the server's numbers is missing, it begins again: a lost message would
// come after newer ones of its key.
type feed[K comparable] struct {
	node      *Node[K]
	stream    jetstream.Stream
	partition int
	epoch     uint64
	take      func(m jetstream.Msg, sequence uint64)
	logger    *slog.Logger
	ctx       context.Context // ends when the feed is closed
	cancel    context.CancelFunc
	broke     chan struct{} // gets a value when the feed has to begin again

	mu        sync.Mutex
	consuming jetstream.ConsumeContext
	last      uint64 // the number of the last message
	broken    bool
	limit     int // the bytes of a request, or 0 for the usual ones

	watchdog   watchdog
	unanswered int // checks in a row
}

// fetchBytes is what a node asks for at a time: a slow link takes it long before
// the servers cut a slow consumer, by default after 64 MiB or ten seconds.
const fetchBytes = 16 << 20

// largest is the greatest max_payload of servers, and more: they took larger messages
// than now, perhaps. They do not deliver what is larger than a request, and the
// client only asks again, without a pause. So after a loss, requests are that large.
const largest = 65 << 20

// fetchLimit is a partition's part, but at least the largest message.
func (n *Node[K]) fetchLimit(least int) int {
	const around = 8 << 10 // the subjects
	return max(least, fetchBytes/n.options.Partitions, int(n.connection.MaxPayload())+around)
}

// consume's requests end before the lease of a node that freezes does.
func (n *Node[K]) consume(c jetstream.Consumer, atOnce, least int, take func(jetstream.Msg), failed func(error)) (jetstream.ConsumeContext, error) {
	const longest = 30 * time.Second // that the client takes
	expiry := n.options.Lease / 2
	return c.Consume(take, jetstream.PullMaxMessagesWithBytesLimit(atOnce, n.fetchLimit(least)),
		jetstream.PullExpiry(expiry), jetstream.PullHeartbeat(min(expiry/2, longest)),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { failed(err) }))
}

// lastEpoch returns the epoch of the last owner of a partition, as the stream of
// its keys knows it: that of the leases may have been deleted or rolled back.
func (n *Node[K]) lastEpoch(ctx context.Context, partition int) (uint64, error) {
	c, err := n.streams.work[partition].Consumer(ctx, ownerConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	epoch, _ := strconv.ParseUint(c.CachedInfo().Config.Metadata[epochKey], 10, 64) // 0 without one
	return epoch, nil
}

func (f *feed[K]) makeConsumer(ctx context.Context, epoch uint64) (jetstream.Consumer, error) {
	o := &f.node.options
	return f.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: ownerConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: o.Lease, MaxDeliver: -1, MaxAckPending: o.maxTaken(),
		Metadata: map[string]string{epochKey: strconv.FormatUint(epoch, 10)},
	})
}

// begin ends what the feed has begun before.
func (f *feed[K]) begin(ctx context.Context) error {
	if err := f.stop(ctx); err != nil {
		return err
	}
	o := &f.node.options
	c, err := f.makeConsumer(ctx, f.epoch)
	if err != nil {
		return err
	}
	if _, err = f.node.js.ResetConsumerToSequence(ctx, f.node.names.WorkStream(f.partition), ownerConsumer, 1); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return nil
	}
	f.last, f.broken = 0, false
	f.consuming, err = f.node.consume(c, o.maxTaken(), f.limit, f.receive, f.failed)
	return err
}

// stop returns when the server knows that nobody waits for its last answers.
func (f *feed[K]) stop(ctx context.Context) error {
	f.mu.Lock()
	before := f.consuming
	f.consuming = nil
	f.mu.Unlock()
	if before == nil {
		return nil
	}
	before.Stop()
	select {
	case <-before.Closed():
		return f.node.connection.FlushWithContext(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *feed[K]) receive(m jetstream.Msg) {
	about, err := m.Metadata()
	if err != nil {
		f.logger.Error("a message has no place in the stream", "subject", m.Subject(), "error", err)
		return
	}
	if f.isNext(about.Sequence.Consumer) {
		f.take(m, about.Sequence.Stream)
	}
}

// A new leader of the consumer may count from less: what comes twice is known.
func (f *feed[K]) isNext(number uint64) bool {
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

func (f *feed[K]) failed(err error) {
	if !isDeleted(err) {
		return // the client repeats its request, if no operator has deleted the consumer
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.breakLocked()
}

func isDeleted(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound)
}

func (f *feed[K]) breakLocked() {
	if !f.broken && f.consuming != nil {
		f.broken = true
		wake(f.broke)
	}
}

func (f *feed[K]) close() {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.consuming != nil {
		f.consuming.Stop()
	}
}

// A watchdog, for one goroutine, finds messages that a server never delivers.
type watchdog struct {
	oldest uint64 // at the last check
	missed int    // checks in a row have missed a message
}

const maxMissed = 3

// isLost reports whether maxMissed checks in a row missed the same oldest.
func (w *watchdog) isLost(oldest uint64, misses bool) bool {
	if oldest != w.oldest {
		w.missed = 0
	}
	w.oldest, w.missed = oldest, w.missed+1
	lost := misses && w.missed == maxMissed
	if lost || !misses {
		w.missed = 0
	}
	return lost
}

// misses reports whether the consumer has lost a message. Only counts between
// which nothing has changed are compared.
func (f *feed[K]) misses(ctx context.Context, holds func(sequence uint64) bool) (oldest uint64, misses bool, err error) {
	before, err := f.node.info(ctx, f.stream)
	if err != nil || before.State.Msgs == 0 {
		return 0, false, err
	}
	oldest = before.State.FirstSeq
	if !holds(oldest) {
		return oldest, true, nil
	}
	c, err := f.stream.Consumer(ctx, ownerConsumer)
	if err != nil {
		return oldest, false, err
	}
	counted := c.CachedInfo()
	after, err := f.node.info(ctx, f.stream)
	if err != nil {
		return oldest, false, err
	}
	same := before.State.LastSeq == after.State.LastSeq && before.State.Msgs == after.State.Msgs
	return oldest, same && after.State.Msgs > counted.NumPending+uint64(counted.NumAckPending), nil
}

// check also breaks a feed whose stream does not answer: to begin again fails, and
// says why.
func (f *feed[K]) check(ctx context.Context, holds func(sequence uint64) bool) {
	oldest, misses, err := f.misses(ctx, holds)
	switch {
	case err != nil:
		if f.unanswered++; f.unanswered < maxMissed {
			return // the next check will do as well
		}
	case f.watchdog.isLost(oldest, misses):
		f.logger.Error("the server does not deliver all messages: the partition is read again", "oldest", oldest)
	default:
		f.unanswered = 0
		return
	}
	f.unanswered = 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.limit = largest
	}
	f.breakLocked()
}
