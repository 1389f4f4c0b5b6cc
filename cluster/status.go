package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// counts are what a node has done since it joined.
type counts struct{ added, done, failed, discarded atomic.Uint64 }

// Stats are counts of one node since it joined, and what it has now.
type Stats struct {
	Added     uint64 // keys or values that this node has added
	Done      uint64 // runs that succeeded, or whose key was discarded
	Failed    uint64 // attempts that failed and are followed by another
	Discarded uint64 // keys that became dead letters
	// Partitions is the number of partitions that the node owns, Held the
	// number of keys that it holds, and InFlight the number of its handlers.
	Partitions, Held, InFlight int
}

// Stats returns the node's counts.
func (n *Node[K]) Stats() Stats {
	s := Stats{
		Added: n.counts.added.Load(), Done: n.counts.done.Load(),
		Failed: n.counts.failed.Load(), Discarded: n.counts.discarded.Load(),
	}
	n.mu.Lock()
	owned := make([]*partition[K], 0, len(n.owned))
	for _, p := range n.owned {
		owned = append(owned, p)
	}
	s.InFlight = len(n.runs)
	n.mu.Unlock()
	s.Partitions = len(owned)
	for _, p := range owned {
		s.Held += p.held.Len()
	}
	return s
}

// A Member is a node that works, as it was last heard of.
type Member struct {
	ID   string    `json:"id"`
	Host string    `json:"host"`
	PID  int       `json:"pid"`
	Time time.Time `json:"time"` // of the heartbeat, by the node's clock
	Stats
	// Oldest are the keys that have been in flight for longest: at most ten.
	Oldest []InFlight `json:"oldest"`
	// Epochs has the epoch of each partition that the node owns.
	Epochs map[int]uint64 `json:"epochs"`
}

// InFlight is a key that a handler has.
type InFlight struct {
	Key       string    `json:"key"` // as fmt.Sprint prints it
	Partition int       `json:"partition"`
	Began     time.Time `json:"began"` // by the node's clock
}

// oldestShown is the number of keys in flight that a heartbeat names.
const oldestShown = 10

// heartbeat returns what the node tells the others.
func (n *Node[K]) heartbeat() Member {
	host, _ := os.Hostname()
	m := Member{ID: n.id, Host: host, PID: os.Getpid(), Time: time.Now(), Stats: n.Stats(), Epochs: map[int]uint64{}}
	n.mu.Lock()
	for number, p := range n.owned {
		m.Epochs[number] = p.lease.Epoch
	}
	for _, r := range n.runs {
		m.Oldest = append(m.Oldest, InFlight{fmt.Sprint(r.key), r.partition.lease.Partition, r.began})
	}
	n.mu.Unlock()
	slices.SortFunc(m.Oldest, func(a, b InFlight) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Key, b.Key)) })
	m.Oldest = m.Oldest[:min(len(m.Oldest), oldestShown)]
	return m
}

// Status is the state of the whole queue.
type Status struct {
	Name string
	// Pending is the number of pending keys, or of values, Delayed of keys that
	// are delayed, and Dead of dead letters.
	Pending, Delayed, Dead uint64
	// Members are the nodes that work, by their ids.
	Members []Member
	// Partitions are those of the queue, by their numbers.
	Partitions []PartitionStatus
}

// PartitionStatus is the state of a partition.
type PartitionStatus struct {
	Partition int
	// Owner is the id of the node that owns the partition, if any, as of its
	// last heartbeat.
	Owner string
	Epoch uint64
	// Pending is the number of its messages, Waiting of those that the owner
	// has not taken, and Taken of those that it has not acknowledged.
	Pending, Waiting uint64
	Taken            int
	// OldestKey is the oldest pending key, and OldestAdded when it was added.
	// It is empty if none is pending.
	OldestKey   string
	OldestAdded time.Time
}

// Status asks the servers for the state of the whole queue. Any node can ask,
// also one that only adds. It takes a few requests
// for each partition.
func (n *Node[K]) Status(ctx context.Context) (Status, error) {
	s := Status{Name: n.options.Name, Partitions: make([]PartitionStatus, n.options.Partitions)}
	for i := range s.Partitions {
		s.Partitions[i].Partition = i
	}
	if err := n.countStreams(ctx, &s); err != nil {
		return s, err
	}
	if err := n.readMembers(ctx, &s); err != nil {
		return s, err
	}
	for i := range s.Partitions {
		if err := n.readPartition(ctx, &s.Partitions[i]); err != nil {
			return s, err
		}
		s.Pending += s.Partitions[i].Pending
	}
	return s, nil
}

func (n *Node[K]) countStreams(ctx context.Context, s *Status) error {
	for _, each := range []struct {
		count  *uint64
		stream jetstream.Stream
	}{{&s.Delayed, n.streams.delayed}, {&s.Dead, n.streams.dead}} {
		info, err := each.stream.Info(ctx)
		if err != nil {
			return fmt.Errorf("cluster: status: %w", err)
		}
		*each.count = info.State.Msgs
	}
	return nil
}

// readMembers reads the last heartbeat of each node.
func (n *Node[K]) readMembers(ctx context.Context, s *Status) error {
	info, err := n.streams.state.Info(ctx, jetstream.WithSubjectFilter(n.names.Members()))
	if err != nil {
		return fmt.Errorf("cluster: status: %w", err)
	}
	for subject := range info.State.Subjects {
		last, err := n.streams.state.GetLastMsgForSubject(ctx, subject)
		var m Member
		if err != nil || len(last.Data) == 0 || json.Unmarshal(last.Data, &m) != nil {
			continue // it has left
		}
		s.Members = append(s.Members, m)
		for number, epoch := range m.Epochs {
			if number < len(s.Partitions) && epoch > s.Partitions[number].Epoch {
				s.Partitions[number].Owner, s.Partitions[number].Epoch = m.ID, epoch
			}
		}
	}
	slices.SortFunc(s.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// readPartition reads what is pending in a partition.
func (n *Node[K]) readPartition(ctx context.Context, p *PartitionStatus) error {
	stream := n.streams.work[p.Partition]
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("cluster: status: %w", err)
	}
	p.Pending, p.Waiting = info.State.Msgs, info.State.Msgs
	c, err := stream.Consumer(ctx, ownerConsumer)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound): // nobody has worked yet
	case err != nil:
		return fmt.Errorf("cluster: status: %w", err)
	default:
		p.Waiting, p.Taken = c.CachedInfo().NumPending, c.CachedInfo().NumAckPending
	}
	if p.Pending == 0 {
		return nil
	}
	oldest, err := stream.GetMsg(ctx, info.State.FirstSeq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // done meanwhile
	}
	if err != nil {
		return fmt.Errorf("cluster: status: %w", err)
	}
	p.OldestAdded = oldest.Time
	if _, _, data, err := names.Parse(oldest.Subject); err == nil {
		if key, err := n.decode(data); err == nil {
			p.OldestKey = fmt.Sprint(key)
		}
	}
	return nil
}

// Stuck returns the key of the whole queue that has been in flight for longest,
// and the node that has it. It returns false if none is in flight.
func (s Status) Stuck() (key InFlight, node Member, ok bool) {
	for _, m := range s.Members {
		for _, each := range m.Oldest {
			if !ok || each.Began.Before(key.Began) {
				key, node, ok = each, m, true
			}
		}
	}
	return key, node, ok
}
