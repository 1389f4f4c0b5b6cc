package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/cluster/internal/skew"
)

type counts struct{ added, done, failed, discarded atomic.Uint64 }

// Stats are counts of one node since it joined, and what it has now.
type Stats struct {
	Added     uint64 // keys or values that this node has added
	Done      uint64 // runs that succeeded, or whose key was discarded
	Failed    uint64 // attempts that failed and are followed by another
	Discarded uint64 // keys that became dead letters
	// Partitions counts the partitions that the node reads, and Failing those
	// that it cannot read: see the state [Failing]. If it cannot read keys whose
	// delay has ended, they count as one more. Held counts the keys that it has
	// taken, and InFlight its handlers.
	Partitions, Failing, Held, InFlight int
}

// Stats returns the node's counts.
func (n *Node[K]) Stats() Stats {
	s := Stats{
		Added: n.counts.added.Load(), Done: n.counts.done.Load(),
		Failed: n.counts.failed.Load(), Discarded: n.counts.discarded.Load(),
	}
	for _, p := range n.partitions() {
		s.Held += p.held.Len()
	}
	for _, slot := range n.slots {
		switch slot.read().State {
		case Open:
			s.Partitions++
		case Failing:
			s.Failing++
		}
	}
	if n.due.read().State == Failing {
		s.Failing++
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.InFlight = len(n.runs)
	return s
}

func (n *Node[K]) partitions() []*partition[K] {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.owned))
}

// A Member is a node that works, as it was last heard of.
type Member struct {
	ID   string    `json:"id"`
	Host string    `json:"host"`
	PID  int       `json:"pid"`
	Time time.Time `json:"time"` // of the heartbeat, by the node's clock
	Stats
	Oldest []InFlight     `json:"oldest"` // in flight for longest: at most ten
	Epochs map[int]uint64 `json:"epochs"` // of the partitions that the node owns
	// Others has the partitions that the node has or wants, and does not read, and
	// Due tells whether it reads keys whose delay has ended.
	Others map[int]PartitionState `json:"others,omitempty"`
	Due    PartitionState         `json:"due"`
}

// InFlight is a key that a handler has.
type InFlight struct {
	Key       string    `json:"key"` // as fmt.Sprint prints it
	Partition int       `json:"partition"`
	Began     time.Time `json:"began"` // by the node's clock
}

// encoded leaves out what has no place: at first the younger half of the keys.
func (m Member) encoded(limit int64) ([]byte, error) {
	for {
		data, err := json.Marshal(m)
		if err != nil || int64(len(data)) <= limit || m.Others == nil {
			return data, err
		}
		if m.Oldest = m.Oldest[:len(m.Oldest)/2]; len(m.Oldest) == 0 {
			m.Others = nil
		}
	}
}

func (n *Node[K]) heartbeat() Member {
	host, _ := os.Hostname()
	m := Member{ID: n.id, Host: host, PID: os.Getpid(), Time: time.Now(), Stats: n.Stats(), Epochs: map[int]uint64{}, Others: map[int]PartitionState{},
		Due: n.due.read()}
	n.mu.Lock()
	for number, p := range n.owned {
		m.Epochs[number] = p.lease.Epoch
	}
	for _, r := range n.runs {
		m.Oldest = append(m.Oldest, InFlight{fmt.Sprint(r.key), r.partition.lease.Partition, r.began})
	}
	n.mu.Unlock()
	for number, slot := range n.slots {
		if s := slot.read(); s.State != Open && s.State != Idle {
			m.Others[number] = s
		}
	}
	slices.SortFunc(m.Oldest, func(a, b InFlight) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Key, b.Key)) })
	m.Oldest = m.Oldest[:min(len(m.Oldest), 10)]
	return m
}

// Status is the state of the whole queue.
type Status struct {
	Name                   string
	Pending, Delayed, Dead uint64            // keys, or values, and letters
	Members                []Member          // the nodes that work, by their ids
	Partitions             []PartitionStatus // by their numbers
	Skew                   Skew              // the greatest between the servers' clocks
	Settings               Settings
	// Silent names the streams that did not answer. What they know is missing.
	Silent []string `json:",omitempty"`
}

// A Skew is the least difference between two servers' clocks that fits the
// times in their answers.
type Skew = skew.Skew

// PartitionStatus is the state of a partition.
type PartitionStatus struct {
	Partition      int
	Owner          string // the id of the node that owns it, as of its last heartbeat
	Epoch          uint64
	PartitionState // as its owner, the node that cannot acquire it, or this node has it
	// Pending is the number of messages, Waiting of those that the owner has
	// not taken, and Taken of those that it has not acknowledged.
	Pending, Waiting uint64
	Taken            int
	OldestKey        string // that is pending, if any
	OldestAdded      time.Time
}

// statusTime is less than the five seconds that the page and the metrics wait.
const statusTime = 4 * time.Second

// Status asks the servers for the state of the queue, in four seconds at most. It
// returns an error if none answers. The node need not run.
func (n *Node[K]) Status(ctx context.Context) (s Status, err error) {
	if err = cmp.Or(n.Err(), n.disconnected()); err != nil {
		return s, fmt.Errorf("cluster: status: %w", err)
	}
	s = Status{Name: n.options.Name, Partitions: make([]PartitionStatus, n.options.Partitions)}
	reads := []func(context.Context) error{
		n.count(n.streams.delayed, &s.Delayed), n.count(n.streams.dead, &s.Dead),
		func(ctx context.Context) (err error) { s.Settings, err = n.Settings(ctx); return err },
		func(ctx context.Context) error { return n.readMembers(ctx, &s) },
	}
	ofQueue := len(reads)
	for i := range s.Partitions {
		s.Partitions[i].Partition, s.Partitions[i].State = i, Idle
		reads = append(reads, func(ctx context.Context) error { return n.readPartition(ctx, &s.Partitions[i]) })
	}
	failed := make([]error, len(reads))
	short, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	inLanes(len(reads), len(reads), func(i int) { failed[i] = reads[i](short) })
	if err = cmp.Or(n.disconnected(), ctx.Err()); err == nil && !slices.Contains(failed, nil) {
		err = failed[0]
	}
	if err != nil {
		return s, fmt.Errorf("cluster: status: %w", err)
	}
	for _, m := range s.Members {
		m.addTo(s.Partitions)
	}
	for i, err := range failed {
		if err == nil {
			continue
		}
		s.Silent = append(s.Silent, err.Error())
		if i >= ofQueue {
			s.Partitions[i-ofQueue].PartitionState = PartitionState{State: Failing, Error: err.Error()}
		}
	}
	for _, p := range s.Partitions {
		s.Pending += p.Pending
	}
	s.Skew = n.clocks.Greatest()
	return s, nil
}

func (n *Node[K]) count(stream jetstream.Stream, messages *uint64) func(context.Context) error {
	return func(ctx context.Context) error {
		info, err := n.info(ctx, stream)
		if err == nil {
			*messages = info.State.Msgs
		}
		return err
	}
}

func (n *Node[K]) readMembers(ctx context.Context, s *Status) error {
	info, err := n.info(ctx, n.streams.state, jetstream.WithSubjectFilter(n.names.Members()))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		last, err := n.streams.state.GetLastMsgForSubject(ctx, subject)
		var m Member
		if err != nil || len(last.Data) == 0 || json.Unmarshal(last.Data, &m) != nil || info.TimeStamp.Sub(last.Time) > n.options.Lease {
			continue // it has left, and servers without room do not delete it
		}
		s.Members = append(s.Members, m)
	}
	slices.SortFunc(s.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

func (m Member) addTo(partitions []PartitionStatus) {
	for number := range partitions {
		p := &partitions[number]
		epoch, owns := m.Epochs[number]
		other, hasState := m.Others[number]
		switch {
		case owns && epoch > p.Epoch:
			p.Owner, p.Epoch, p.PartitionState = m.ID, epoch, PartitionState{State: Open}
		case owns || p.Owner != "":
			continue // of an owner before
		}
		if hasState {
			p.PartitionState = other
		}
	}
}

func (n *Node[K]) readPartition(ctx context.Context, p *PartitionStatus) error {
	stream := n.streams.work[p.Partition]
	info, err := n.info(ctx, stream)
	if err != nil {
		return err
	}
	p.Pending, p.Waiting = info.State.Msgs, info.State.Msgs
	c, err := stream.Consumer(ctx, ownerConsumer)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound): // nobody has worked yet
	case err != nil:
		return err
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
		return err
	}
	p.OldestAdded = oldest.Time
	if _, _, data, err := names.Parse(oldest.Subject); err == nil {
		if key, err := n.decode(data); err == nil {
			p.OldestKey = fmt.Sprint(key)
		}
	}
	return nil
}

// Stuck returns the key that has been in flight for longest, if any, and its node.
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
