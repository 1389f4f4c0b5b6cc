package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// The headers of messages.
const (
	priorityHeader = "Shardq-Priority"
	// scheduleHeader has the time of a schedule. The client's own option for it
	// rounds down to a second.
	scheduleHeader = "Nats-Schedule"
	targetHeader   = "Nats-Schedule-Target"
)

// AddOptions say how AddWith adds a key.
type AddOptions struct {
	// After is the delay. If the key is delayed already, the earlier time
	// counts.
	After time.Duration
	// Priority is the priority in the queue of the partition's owner. Of
	// several adds of a pending key, that of the last one counts.
	Priority int
}

// Add adds a key. It returns nil when the servers have stored it. A key that is
// pending is stored once, however often it is added. A key that is in flight
// runs once more.
//
// Add returns [ErrFull] if the queue is full, an error that wraps [ErrKey] if
// the key cannot be stored, or nats.ErrMaxPayload if its headers are too large,
// [ErrClosed] after Close, and the error of ctx if it ends first. Add waits at
// most 20 seconds for servers that elect a leader. After another error the key
// may have been stored or not. Adding it again is harmless.
func (n *Node[K]) Add(ctx context.Context, key K) error {
	return n.AddWith(ctx, key, AddOptions{})
}

// AddAfter adds a key after a delay, which the servers keep. It returns as Add
// does. The delay is counted by the node's clock, Options.Queue.Clock: the
// servers get the time of its end. They look for ends up to four times a
// second.
func (n *Node[K]) AddAfter(ctx context.Context, key K, delay time.Duration) error {
	return n.AddWith(ctx, key, AddOptions{After: delay})
}

// AddWith adds a key as the options say. It returns as Add does.
func (n *Node[K]) AddWith(ctx context.Context, key K, options AddOptions) error {
	if n.options.Values {
		return ErrValues
	}
	partition, token, err := n.destination(key)
	if err != nil {
		return err
	}
	if options.After > 0 {
		return n.addAfter(ctx, partition, token, options)
	}
	m := n.workMessage(partition, token, options.Priority)
	if err := n.fill(ctx, m, nil); err != nil {
		return err
	}
	return n.added(1, n.publish(ctx, m))
}

func (n *Node[K]) addAfter(ctx context.Context, partition int, token string, options AddOptions) error {
	at := n.now().Add(options.After)
	m := n.scheduleMessage(partition, token, at, options.Priority)
	err := n.fill(ctx, m, nil)
	if err == nil {
		err = n.delayed.admit(ctx, n.streams.delayed, n.options.MaxDelayed)
	}
	if err != nil {
		return err
	}
	return n.added(1, n.schedule(ctx, m, at))
}

// AddAll adds many keys, in the time of a few: it does not wait for the servers
// between them. It returns nil when all are stored, and errors as Add does.
// Then some may have been stored.
func (n *Node[K]) AddAll(ctx context.Context, keys ...K) error {
	if n.options.Values {
		return ErrValues
	}
	sent := make([]sending, 0, len(keys))
	for _, key := range keys {
		partition, token, err := n.destination(key)
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

// A sending is a message that was sent, and the answer to come, or nil if the
// window was full.
type sending struct {
	message *nats.Msg
	answer  jetstream.PubAckFuture
}

// arrive waits until a message is stored. If the answer is lost, or if there is
// no leader, it sends the message again: to store a key twice is harmless.
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

// Put adds a value of a key. It returns as Add does, and an error that wraps
// nats.ErrMaxPayload if the value is larger than the servers take, less about
// 1 KiB and six times the size of the key. A run of the key gets the
// values that are pending, in the order in which the servers have stored them.
// After an error of another kind than those of Add, the value may have been
// stored, and a Put again stores it twice: see [Node.PutOnce].
func (n *Node[K]) Put(ctx context.Context, key K, value []byte) error {
	return n.put(ctx, key, value, "")
}

// PutOnce is Put of a value that has an id. If the servers have stored a value
// of the key with that id in the last two minutes, they do not store this one,
// and PutOnce returns nil. So it can be repeated after any error.
func (n *Node[K]) PutOnce(ctx context.Context, key K, value []byte, id string) error {
	if id == "" {
		return errors.New("cluster: PutOnce wants an id")
	}
	return n.put(ctx, key, value, id)
}

// put stores a value. With an id it can be repeated.
func (n *Node[K]) put(ctx context.Context, key K, value []byte, id string) error {
	if !n.options.Values {
		return ErrValues
	}
	partition, token, err := n.destination(key)
	if err != nil {
		return err
	}
	m := n.workMessage(partition, token, 0)
	if err = n.fill(ctx, m, value); err != nil {
		return err
	}
	if id == "" {
		return n.added(1, n.publishOnce(ctx, m))
	}
	return n.added(1, n.publish(ctx, m, jetstream.WithMsgID(names.WithID(token, id))))
}

// publishAsync publishes without waiting for the answer. If too many answers
// are outstanding, it waits for some.
func publishAsync(js jetstream.JetStream, m *nats.Msg, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return js.PublishMsgAsync(m, append(options, jetstream.WithStallWait(5*time.Second))...)
}

// workMessage returns the message that makes a key pending.
func (n *Node[K]) workMessage(partition int, token string, priority int) *nats.Msg {
	m := nats.NewMsg(n.names.Key(names.Work, partition, token))
	setPriority(m, priority)
	return m
}

func setPriority(m *nats.Msg, priority int) {
	if priority != 0 {
		m.Header.Set(priorityHeader, strconv.Itoa(priority))
	}
}

// priorityOf returns the priority of a message's header, 0 without one.
func priorityOf(header nats.Header) int {
	text := header.Get(priorityHeader)
	if text == "" {
		return 0
	}
	priority, _ := strconv.Atoi(text)
	return priority
}

// schedule stores the message of a schedule, which is due then. If the key is
// delayed already, the earlier time counts. Of concurrent writers one is first,
// and the others read again.
func (n *Node[K]) schedule(ctx context.Context, m *nats.Msg, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	var before uint64 // the message that this one replaces
	for {
		err := n.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(before))
		if isBusy(err) {
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
		if until, err := scheduledFor(last.Header); err == nil && !until.After(at) {
			return nil
		}
		before = last.Sequence
	}
}

// scheduledFor returns when a delayed key is due.
func scheduledFor(header nats.Header) (time.Time, error) {
	at := header.Get(scheduleHeader)
	return time.Parse("@at "+time.RFC3339Nano, at)
}

// isConflict reports whether another message came before.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// codeBusy is the error of a server that is storing another message of the same
// subject. That one may fail yet.
const codeBusy = 10164

// busyTime is how long an add waits then.
const busyTime = 20 * time.Millisecond

func isBusy(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeBusy
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now returns the time of day, by the queue's clock.
func (n *Node[K]) now() time.Time {
	if c := n.options.Queue.Clock; c != nil {
		return c.Now()
	}
	return time.Now()
}

// destination returns where an add stores a key, or ErrClosed.
func (n *Node[K]) destination(key K) (partition int, token string, err error) {
	if n.closed.Load() {
		return 0, "", ErrClosed
	}
	return n.place(key)
}

// place returns where a key is stored.
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

// decode returns the key of its encoding. A panic of the codec, in a goroutine
// of the connection, would end the program each time it starts.
func (n *Node[K]) decode(data []byte) (key K, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: the codec panicked: %v", ErrKey, r)
		}
	}()
	return n.options.Codec.Decode(data)
}

// codeStoreFailed is the server's error for a message that exceeds a limit.
const codeStoreFailed = 10077

func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed
}

// added counts adds, and returns their error as users see it.
func (n *Node[K]) added(count int, err error) error {
	switch {
	case err == nil:
		n.counts.added.Add(uint64(count))
		return nil
	case isFull(err):
		return ErrFull
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrJetStreamPublisherClosed):
		return ErrClosed
	case errors.Is(err, ErrStore):
		return err
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("cluster: add: no server leads the stream: are they running, with room on their disks? %w", err)
	}
	return fmt.Errorf("cluster: add: %w", err)
}
