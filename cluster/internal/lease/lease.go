// Package lease has the right to work on a partition. A lease is the last message
// of a subject, and the server deletes it after its time. Its publisher names the
// message that it replaces, so that of two publishers only one succeeds. Its
// epoch is the sequence number of the message that acquired it, so that epochs
// grow. After the stream was deleted or rolled back, that number is added to the
// floor of epochs.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	ErrHeld = errors.New("lease: another node has it")
	ErrLost = errors.New("lease: lost") // it has expired, or another node has it by now
)

// A Store has the leases of a queue, for one node.
type Store struct {
	JetStream jetstream.JetStream
	Stream    jetstream.Stream // of the leases, one for each Subject
	Subject   func(partition int) string
	Node      string        // the id of the node, which no other has or had
	Time      time.Duration // how long a lease lives after its last renewal: 1 s or more
	// Floor returns an epoch that no later one may fall below.
	Floor func(ctx context.Context, partition int) (uint64, error)
}

type Record struct {
	Node string `json:"node"`
	// Epoch is 0 in the message that acquires the lease, because the number of
	// that message decides the epoch.
	Epoch    uint64 `json:"epoch,omitempty"`
	Released bool   `json:"released,omitempty"`
}

// Read returns what a lease's message says. Where a lease has expired, the
// server leaves a message without a record.
func Read(header nats.Header, data []byte) (Record, error) {
	var r Record
	if header.Get(jetstream.MarkerReasonHeader) != "" {
		return Record{Released: true}, nil
	}
	err := json.Unmarshal(data, &r)
	return r, err
}

type Lease struct {
	Partition int
	Epoch     uint64

	store *Store
	// For the goroutine that renews: the number of the last message, and whether the
	// servers had no room for the next.
	revision uint64
	full     bool
	// renewed is when the last good renewal was sent, in nanoseconds since
	// begin, by the monotonic clock.
	begin   time.Time
	renewed atomic.Int64
}

func (s *Store) last(ctx context.Context, partition int) (r Record, sequence uint64, err error) {
	m, err := s.Stream.GetLastMsgForSubject(ctx, s.Subject(partition))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return r, 0, nil
	}
	if err != nil {
		return r, 0, err
	}
	if r, err = Read(m.Header, m.Data); err != nil {
		return r, 0, fmt.Errorf("the lease of partition %d: %w", partition, err)
	}
	return r, m.Sequence, nil
}

func (s *Store) publish(ctx context.Context, partition int, r Record, replaced uint64) (sequence uint64, err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	ack, err := s.JetStream.Publish(ctx, s.Subject(partition), data, jetstream.WithMsgTTL(s.Time),
		jetstream.WithExpectLastSequencePerSubject(replaced))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func isConflict(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// IsFull reports whether the servers have no room for a message, by their own
// limit or by that of the account.
func IsFull(err error) bool {
	const ofAccount, ofServer, ofStorage = 10002, 10023, 10047
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == ofAccount || api.ErrorCode == ofServer || api.ErrorCode == ofStorage)
}

// Acquire returns ErrHeld if another node has the lease.
func (s *Store) Acquire(ctx context.Context, partition int) (*Lease, error) {
	before, sequence, err := s.last(ctx, partition)
	if err != nil {
		return nil, err
	}
	if sequence != 0 && !before.Released {
		return nil, ErrHeld
	}
	floor, err := s.Floor(ctx, partition)
	if err != nil {
		return nil, err
	}
	l := &Lease{Partition: partition, store: s, begin: time.Now()}
	l.Epoch, err = s.publish(ctx, partition, Record{Node: s.Node}, sequence)
	if isConflict(err) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, err // if it was stored nevertheless, it expires
	}
	l.revision = l.Epoch
	if l.Epoch <= floor {
		l.Epoch += floor // and not floor+1, which an owner between may have had
	}
	return l, nil
}

func (l *Lease) record() Record { return Record{Node: l.store.Node, Epoch: l.Epoch} }

// Renew prolongs the lease, or returns ErrLost. After another error the lease
// may have been prolonged or not, and Renew can be called again. While the servers
// have no room for a message, the lease goes on unless another node has it.
func (l *Lease) Renew(ctx context.Context) error {
	sent := time.Since(l.begin)
	sequence, err := l.store.publish(ctx, l.Partition, l.record(), l.revision)
	if isConflict(err) {
		if err = l.recover(ctx); err == nil && l.full {
			return l.Renew(ctx)
		}
		return err
	}
	full := IsFull(err)
	if full { // nobody else can acquire it, either
		l.full = true
		sequence, err = l.current(ctx)
	}
	if err != nil {
		return err
	}
	l.revision, l.full = sequence, full
	l.renewed.Store(int64(sent))
	return nil
}

// current returns the number of the lease's last message, or ErrLost if that is
// another node's. If the servers had no room, the lease may have expired: nobody
// has acquired it since, as a record would live for as long as Remaining counts.
func (l *Lease) current(ctx context.Context) (sequence uint64, err error) {
	last, sequence, err := l.store.last(ctx, l.Partition)
	if err != nil {
		return 0, err
	}
	isFree := l.full && last.Node == "" && l.Remaining() > 0
	if last != l.record() && sequence != l.revision && !isFree {
		return 0, ErrLost
	}
	return sequence, nil
}

// recover finds a renewal whose answer was lost. The one before it counts.
func (l *Lease) recover(ctx context.Context) error {
	sequence, err := l.current(ctx)
	if err == nil {
		l.revision = sequence
	}
	return err
}

// Release gives the lease back at once. It must not run beside Renew.
func (l *Lease) Release(ctx context.Context) error {
	released := l.record()
	released.Released = true
	_, err := l.store.publish(ctx, l.Partition, released, l.revision)
	if isConflict(err) { // with a renewal whose answer was lost, perhaps
		if err = l.recover(ctx); err == nil {
			_, err = l.store.publish(ctx, l.Partition, released, l.revision)
		}
	}
	return err
}

// Remaining returns how long the lease lives at least: the server counts from
// when it has stored the last renewal, which is later than when it was sent.
func (l *Lease) Remaining() time.Duration {
	return l.store.Time - (time.Since(l.begin) - time.Duration(l.renewed.Load()))
}

// IsFresh reports whether a third of the lease is left, so that work may begin.
func (l *Lease) IsFresh() bool { return l.Remaining() > l.store.Time/3 }
