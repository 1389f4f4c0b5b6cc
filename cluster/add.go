package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/shardq/shardq/cluster/internal/names"
)

// AddOptions say how AddWith adds a key.
type AddOptions struct {
	After    time.Duration // the delay: if the key is delayed already, the earlier end counts
	Priority int           // in the owner's queue: that of the last add counts
}

// Add adds a key, and returns nil when the servers have stored it. A key that is
// in flight runs once more. Add returns [ErrFull], [ErrClosed], an error that
// wraps [ErrKey], nats.ErrMaxPayload if the headers are too large, and the error
// of ctx. It waits at most 20 seconds for servers that are late or have no
// leader. After another error the key may have been stored, and adding it again
// is harmless.
func (n *Node[K]) Add(ctx context.Context, key K) error {
	return n.AddWith(ctx, key, AddOptions{})
}

// AddAfter adds a key as Add does, after a delay by Options.Queue.Clock. The
// servers look for ends of delays up to four times a second, and a delay ends in
// the year 2262 at the latest.
func (n *Node[K]) AddAfter(ctx context.Context, key K, delay time.Duration) error {
	return n.AddWith(ctx, key, AddOptions{After: delay})
}

// AddWith adds a key, and returns as Add does.
func (n *Node[K]) AddWith(ctx context.Context, key K, options AddOptions) error {
	partition, token, err := n.destination(key, false)
	if err != nil {
		return err
	}
	if options.After > 0 {
		at := n.now().Add(options.After)
		m := n.scheduleMessage(partition, token, at, options.Priority)
		if err := n.fillDelayed(ctx, m, nil); err != nil {
			return err
		}
		return n.added(1, n.schedule(ctx, m, at))
	}
	m := n.workMessage(partition, token, options.Priority)
	if err := n.fill(ctx, m, nil); err != nil {
		return err
	}
	return n.added(1, n.publish(ctx, m))
}

// AddAll adds many keys in the time of a few: it does not wait between them. It
// returns as Add does, when all are stored. After an error some may be stored.
func (n *Node[K]) AddAll(ctx context.Context, keys ...K) error {
	sent := make([]sending, 0, len(keys))
	for _, key := range keys {
		partition, token, err := n.destination(key, false)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		m := n.workMessage(partition, token, 0)
		if err = n.fill(ctx, m, nil); err != nil {
			return err
		}
		future, err := publishAsync(n.js, m)
		if err != nil && !passes(err) {
			return n.added(1, err)
		}
		sent = append(sent, sending{m, future})
	}
	for _, s := range sent {
		if err := n.arrive(ctx, s); err != nil {
			return n.added(1, err)
		}
	}
	return n.added(len(keys), nil)
}

type sending struct {
	message *nats.Msg
	answer  jetstream.PubAckFuture // nil if the window was full
}

// arrive repeats a message whose answer is lost: to store a key twice is harmless.
func (n *Node[K]) arrive(ctx context.Context, s sending) error {
	if s.answer == nil {
		return n.publish(ctx, s.message)
	}
	select {
	case <-s.answer.Ok():
		return nil
	case err := <-s.answer.Err():
		if !passes(err) {
			return err
		}
		return n.publish(ctx, s.message)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Put adds a value of a key, and returns as Add does. The limit of a value is
// that of the servers, less about 1 KiB and six times the size of the key. For
// a larger one, the error wraps nats.ErrMaxPayload. After another error the
// value may have been stored, and a second Put stores it twice: see
// [Node.PutOnce].
func (n *Node[K]) Put(ctx context.Context, key K, value []byte) error {
	m, _, err := n.valueMessage(ctx, key, value)
	if err != nil {
		return err
	}
	return n.added(1, n.publishOnce(ctx, m))
}

// PutOnce is Put of a value that has an id, and can be repeated after any
// error: for two minutes, the servers store only one value of the key with that
// id.
func (n *Node[K]) PutOnce(ctx context.Context, key K, value []byte, id string) error {
	if id == "" {
		return errors.New("cluster: PutOnce wants an id")
	}
	m, token, err := n.valueMessage(ctx, key, value)
	if err != nil {
		return err
	}
	return n.added(1, n.publish(ctx, m, jetstream.WithMsgID(names.WithID(token, id))))
}

func (n *Node[K]) valueMessage(ctx context.Context, key K, value []byte) (m *nats.Msg, token string, err error) {
	partition, token, err := n.destination(key, true)
	if err != nil {
		return nil, "", err
	}
	m = n.workMessage(partition, token, 0)
	return m, token, n.fill(ctx, m, value)
}

// PutAfter adds a value of a key after a delay, as AddAfter does. Its place
// among the values is that of its arrival, after the delay.
func (n *Node[K]) PutAfter(ctx context.Context, key K, value []byte, delay time.Duration) error {
	if delay <= 0 {
		return n.Put(ctx, key, value)
	}
	partition, token, err := n.destination(key, true)
	if err != nil {
		return err
	}
	id := nuid.Next() // a message of its own, which no other replaces
	m := n.scheduleMessage(partition, names.WithID(token, id), n.now().Add(delay), 0)
	if err = n.fillDelayed(ctx, m, value); err != nil {
		return err
	}
	return n.added(1, n.publish(ctx, m, jetstream.WithMsgID(id)))
}

// A stream with schedules cannot have DiscardNew, so that the nodes count.
type delayedCount struct {
	mu    sync.Mutex
	asked time.Time
	count uint64
}

func (d *delayedCount) admit(ctx context.Context, stream jetstream.Stream, limit int64) error {
	if limit == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.asked) >= time.Second {
		d.asked = time.Now()
		d.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, attemptTime)
		info, err := stream.Info(ctx) // after an error, the add itself will tell
		cancel()
		d.mu.Lock()
		if err == nil {
			d.count = info.State.Msgs
		}
	}
	if d.count >= uint64(limit) {
		return ErrFull
	}
	d.count++
	return nil
}

// The client's own option for a schedule rounds down to a second.
const (
	priorityHeader = "Shardq-Priority"
	scheduleHeader = "Nats-Schedule"
	scheduleFormat = "@at " + time.RFC3339Nano
	targetHeader   = "Nats-Schedule-Target"
)

func (n *Node[K]) destination(key K, value bool) (partition int, token string, err error) {
	switch {
	case n.options.Values != value:
		return 0, "", ErrValues
	case n.closed.Load():
		return 0, "", ErrClosed
	}
	return n.place(key)
}

func (n *Node[K]) place(key K) (partition int, token string, err error) {
	data, err := n.options.Codec.Encode(key)
	if err != nil {
		return 0, "", fmt.Errorf("%w: %w", ErrKey, err)
	}
	if token, err = names.Token(data); err != nil {
		return 0, "", err
	}
	return names.Partition(data, n.options.Partitions), token, nil
}

// decode recovers from the codec's panics: in a goroutine of the connection,
// one would end the program each time it starts.
func (n *Node[K]) decode(data []byte) (key K, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: the codec panicked: %v", ErrKey, r)
		}
	}()
	return n.options.Codec.Decode(data)
}

func (n *Node[K]) now() time.Time {
	if c := n.options.Queue.Clock; c != nil {
		return c.Now()
	}
	return time.Now()
}

func (n *Node[K]) workMessage(partition int, token string, priority int) *nats.Msg {
	m := nats.NewMsg(n.names.Key(names.Work, partition, token))
	setPriority(m, priority)
	return m
}

// The servers count nanoseconds in an int64, which ends in 2262: what is later
// would come at once.
var latest = time.Date(2262, time.January, 1, 0, 0, 0, 0, time.UTC)

func (n *Node[K]) scheduleMessage(partition int, token string, at time.Time, priority int) *nats.Msg {
	if at.After(latest) {
		at = latest
	}
	m := nats.NewMsg(n.names.Key(names.Delay, partition, token))
	m.Header.Set(scheduleHeader, at.UTC().Format(scheduleFormat))
	m.Header.Set(targetHeader, n.names.Key(names.Due, partition, token))
	setPriority(m, priority)
	return m
}

func setPriority(m *nats.Msg, priority int) {
	if priority != 0 {
		m.Header.Set(priorityHeader, strconv.Itoa(priority))
	}
}

func priorityOf(header nats.Header) int {
	priority, _ := strconv.Atoi(header.Get(priorityHeader)) // 0 without one
	return priority
}

// fill returns an error also if a delayed m or its dead letter would not fit.
func (n *Node[K]) fill(ctx context.Context, m *nats.Msg, value []byte) error {
	if n.options.Inject != nil {
		written := nats.Header{}
		n.options.Inject(ctx, written)
		carry(m.Header, written)
	}
	m.Data = value
	// A delay names the subject twice.
	size, limit := m.Size()+2*len(m.Subject)+maxLetter, n.connection.MaxPayload()
	if int64(size) > limit {
		return fmt.Errorf("cluster: add: %w: up to %d bytes with headers, and the servers take %d", nats.ErrMaxPayload, size, limit)
	}
	return nil
}

func (n *Node[K]) fillDelayed(ctx context.Context, m *nats.Msg, value []byte) error {
	if err := n.fill(ctx, m, value); err != nil {
		return err
	}
	return n.delayed.admit(ctx, n.streams.delayed, n.options.MaxDelayed)
}

func carry(to, from nats.Header) {
	for name, values := range from {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "nats-") && !strings.HasPrefix(lower, "shardq-") {
			to[name] = values
		}
	}
}

const busyTime = 20 * time.Millisecond // while the server stores another message of the subject

// schedule keeps an earlier time. Of concurrent writers the later read again.
func (n *Node[K]) schedule(ctx context.Context, m *nats.Msg, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	var before uint64 // the message that this one replaces
	for {
		err := n.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(before))
		if hasCode(err, codeBusy) {
			if err = pause(ctx, busyTime); err != nil {
				return err
			}
			continue
		}
		if !isConflict(err) {
			return err
		}
		last, err := n.streams.delayed.GetLastMsgForSubject(ctx, m.Subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // its delay has ended meanwhile
			before = 0
			if err = pause(ctx, busyTime); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		until, err := time.Parse(scheduleFormat, last.Header.Get(scheduleHeader))
		if err == nil && !until.After(at) {
			return nil
		}
		before = last.Sequence
	}
}
