package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/worker"
)

// A DeadLetter is a key that was discarded.
type DeadLetter[K comparable] struct {
	Key K `json:"-"`
	// Reason is the text of the last error.
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
	Time     time.Time `json:"time"`
	// Values are those that the last attempt had.
	Values [][]byte `json:"values,omitempty"`

	subject  string
	sequence uint64
}

// bury stores a key as a dead letter. If it cannot, the key stays, and bury
// returns false.
func (n *Node[K]) bury(f worker.Failure[K]) bool {
	r := n.runOf(f.Item)
	letter := DeadLetter[K]{Reason: f.Err.Error(), Attempts: f.Attempt, Time: time.Now()}
	for _, value := range (Claim[K]{Key: f.Item, run: r}).Values() {
		letter.Values = append(letter.Values, value.Data)
	}
	err := r.partition.ctx.Err()
	if err == nil {
		err = n.storeDead(f.Item, letter)
	}
	if err != nil {
		r.keep = true
		n.options.Logger.Warn("a key was not discarded, because that could not be stored", "error", err)
		return false
	}
	n.counts.discarded.Add(1)
	return true
}

func (n *Node[K]) storeDead(key K, letter DeadLetter[K]) error {
	partition, token, err := n.place(key)
	if err != nil {
		return err
	}
	data, err := json.Marshal(letter)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.options.Lease)
	defer cancel()
	m := nats.NewMsg(n.names.Key(names.Dead, partition, token))
	m.Data = data
	return n.publish(ctx, m)
}

// Dead returns the keys that were discarded, in the order of their last
// discard. They stay until [Node.Revive] or [Node.Forget]. If reading fails,
// the last pair has the error.
func (n *Node[K]) Dead(ctx context.Context) iter.Seq2[DeadLetter[K], error] {
	return func(yield func(DeadLetter[K], error) bool) {
		for from := uint64(1); ; {
			m, err := n.streams.dead.GetMsg(ctx, from, jetstream.WithGetMsgSubject(n.names.All(names.Dead)))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			var letter DeadLetter[K]
			if err == nil {
				letter, err = n.readDead(m)
			}
			if !yield(letter, err) || err != nil {
				return
			}
			from = m.Sequence + 1
		}
	}
}

func (n *Node[K]) readDead(m *jetstream.RawStreamMsg) (letter DeadLetter[K], err error) {
	if err = json.Unmarshal(m.Data, &letter); err != nil {
		return letter, fmt.Errorf("cluster: the dead letter %s: %w", m.Subject, err)
	}
	letter.subject, letter.sequence = m.Subject, m.Sequence
	_, _, data, err := names.Parse(m.Subject)
	if err == nil {
		letter.Key, err = n.options.Codec.Decode(data)
	}
	return letter, err
}

// Revive adds a key that was discarded, with its values, and then removes it
// from the dead letters.
func (n *Node[K]) Revive(ctx context.Context, letter DeadLetter[K]) error {
	if !n.options.Values {
		if err := n.Add(ctx, letter.Key); err != nil {
			return err
		}
	}
	for _, value := range letter.Values {
		if err := n.Put(ctx, letter.Key, value); err != nil {
			return err
		}
	}
	return n.Forget(ctx, letter)
}

// Forget removes a key from the dead letters. If it was discarded once more
// since the letter was read, that letter stays.
func (n *Node[K]) Forget(ctx context.Context, letter DeadLetter[K]) error {
	err := n.streams.dead.DeleteMsg(ctx, letter.sequence)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeNoMessage || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

// codeNoMessage is the server's error for a message that is not there.
const codeNoMessage = 10043
