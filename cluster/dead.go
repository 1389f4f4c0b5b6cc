package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/worker"
)

// A DeadLetter is a key that was discarded. With [Options].Values it has one
// value, and each value of the key has a letter.
type DeadLetter[K comparable] struct {
	Key      K         `json:"-"`
	Value    []byte    `json:"-"`
	Reason   string    `json:"reason"` // of the last error: at most 512 bytes
	Attempts int       `json:"attempts"`
	Time     time.Time `json:"time"`

	sequence uint64
}

const (
	letterHeader = "Shardq-Letter" // a letter as JSON: the message is the value

	// The limits of DeadLetter.Reason, and of a letter as JSON, in which a
	// character can take six bytes: headers count as the message's size.
	maxReason = 512
	maxLetter = 1024
)

// bury stores a key as a dead letter. If it cannot, the key stays.
func (n *Node[K]) bury(f worker.Failure[K]) bool {
	r := n.runOf(f.Item)
	if r == nil {
		return false // the node was closed, and the servers have the key
	}
	letter := DeadLetter[K]{
		Reason: keytext.Cut(strings.ToValidUTF8(f.Err.Error(), "?"), maxReason), Attempts: f.Attempt, Time: time.Now(),
	}
	err := r.partition.ctx.Err()
	if err == nil {
		err = n.storeDead(f.Item, letter, r.values())
	}
	if err != nil {
		r.keep = true
		n.ofKeys.warn("discard", "keys are not discarded, because that cannot be stored: they run again each second", err)
		return false
	}
	n.counts.discarded.Add(1)
	return true
}

// The JSON of a letter leaves room for the name of the header.
func (n *Node[K]) storeLetter(
	ctx context.Context, partition int, token string, l DeadLetter[K], value []byte, options ...jetstream.PublishOpt,
) error {
	text, err := json.Marshal(l)
	for ; err == nil && len(text) > maxLetter-100; text, err = json.Marshal(l) {
		l.Reason = keytext.Cut(l.Reason, len(l.Reason)/2)
	}
	if err != nil {
		return err
	}
	m := nats.NewMsg(n.names.Key(names.Dead, partition, token))
	m.Header.Set(letterHeader, string(text))
	m.Data = value
	return n.publish(ctx, m, options...)
}

func (n *Node[K]) storeDead(key K, letter DeadLetter[K], values []Value) error {
	partition, token, err := n.place(key)
	if err != nil {
		return err
	}
	ctx, cancel := n.settling()
	defer cancel()
	if len(values) == 0 {
		return n.storeLetter(ctx, partition, token, letter, nil)
	}
	for _, value := range values {
		id := names.WithID(token, strconv.FormatUint(value.Sequence, 10))
		// An attempt before may have stored it, and then found no room.
		err := n.storeLetter(ctx, partition, id, letter, value.Data, jetstream.WithExpectLastSequencePerSubject(0))
		if err != nil && !isConflict(err) {
			return err
		}
	}
	return nil
}

// buryUnreadable makes a message without a readable key a dead letter: it would
// keep a place of MaxAckPending. If that fails, the watchdog has it come again.
func (p *partition[K]) buryUnreadable(m jetstream.Msg, sequence uint64, reason error) {
	n := p.node
	token := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	if n.options.Values {
		token = names.WithID(token, strconv.FormatUint(sequence, 10))
	}
	letter := DeadLetter[K]{Reason: keytext.Cut(reason.Error(), maxReason), Time: time.Now()}
	ctx, cancel := n.settling()
	defer cancel()
	once := jetstream.WithExpectLastSequencePerSubject(0)
	err := n.storeLetter(ctx, p.lease.Partition, token, letter, m.Data(), once)
	if err == nil || isConflict(err) { // it was delivered twice, perhaps
		err = m.Ack()
	}
	logger := n.options.Logger.With("subject", m.Subject(), "reason", reason)
	if err != nil {
		logger.Error("a key cannot be read, and no dead letter was stored", "error", err)
		return
	}
	logger.Error("a key cannot be read, and is a dead letter now")
}

// Dead returns the letters of some keys, or of all that were discarded before the
// call. They stay until [Node.Revive] or [Node.Forget]. A letter that cannot be
// read comes with an error that wraps [ErrLetter]. After another error nothing
// follows.
func (n *Node[K]) Dead(ctx context.Context, keys ...K) iter.Seq2[DeadLetter[K], error] {
	return func(yield func(DeadLetter[K], error) bool) {
		for m, err := range n.scan(ctx, names.Dead, keys) {
			var letter DeadLetter[K]
			if err == nil {
				letter, err = n.readDead(m)
			}
			if !yield(letter, err) || err != nil && !errors.Is(err, ErrLetter) {
				return
			}
		}
	}
}

func (n *Node[K]) readDead(m *jetstream.RawStreamMsg) (DeadLetter[K], error) {
	var letter DeadLetter[K]
	err := json.Unmarshal([]byte(m.Header.Get(letterHeader)), &letter)
	letter.Value, letter.sequence = m.Data, m.Sequence
	if err == nil {
		letter.Key, err = n.keyOf(m.Subject)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrLetter, m.Subject, err)
	}
	return letter, err
}

// Revive adds a key again, with its value, and then removes the letter.
func (n *Node[K]) Revive(ctx context.Context, letter DeadLetter[K]) error {
	var err error
	if n.options.Values {
		err = n.Put(ctx, letter.Key, letter.Value)
	} else {
		err = n.Add(ctx, letter.Key)
	}
	if err != nil {
		return err
	}
	return n.Forget(ctx, letter)
}

// Forget removes a letter, unless the key was discarded once more since.
func (n *Node[K]) Forget(ctx context.Context, letter DeadLetter[K]) error {
	err := n.streams.dead.DeleteMsg(ctx, letter.sequence)
	if hasCode(err, codeNoMessage) || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}
