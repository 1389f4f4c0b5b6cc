package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// The headers of messages. The client's own option for a schedule rounds down to
// a second.
const (
	priorityHeader = "Shardq-Priority"
	scheduleHeader = "Nats-Schedule"
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

// scheduleMessage has the servers publish another message when the key is due.
func (n *Node[K]) scheduleMessage(partition int, token string, at time.Time, priority int) *nats.Msg {
	m := nats.NewMsg(n.names.Key(names.Delay, partition, token))
	m.Header.Set(scheduleHeader, "@at "+at.UTC().Format(time.RFC3339Nano))
	m.Header.Set(targetHeader, n.names.Key(names.Due, partition, token))
	setPriority(m, priority)
	return m
}

func scheduledFor(header nats.Header) (time.Time, error) {
	return time.Parse("@at "+time.RFC3339Nano, header.Get(scheduleHeader))
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

// fill writes the user's headers and a value into a message. It returns an
// error if the servers could not store what it may become: delayed, or a dead
// letter.
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

// carry copies the headers that are not of the servers or the cluster.
func carry(to, from nats.Header) {
	for name, values := range from {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "nats-") && !strings.HasPrefix(lower, "shardq-") {
			to[name] = values
		}
	}
}

// busyTime is the wait while the server is storing another message of a
// subject.
const busyTime = 20 * time.Millisecond

// schedule stores a message that is due then, unless the key is due before. Of
// concurrent writers one is first, and the others read again.
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
		if until, err := scheduledFor(last.Header); err == nil && !until.After(at) {
			return nil
		}
		before = last.Sequence
	}
}
