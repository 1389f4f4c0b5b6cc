package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster/internal/hold"
	"github.com/shardq/shardq/cluster/internal/lease"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/worker"
)

// A partition is a node's ownership of a partition, under one lease. It takes
// the messages of the partition's keys, and puts the keys into the node's
// queue.
type partition[K comparable] struct {
	node  *Node[K]
	lease *lease.Lease
	// ctx ends when the lease may be lost.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// kept is closed when the lease is no longer renewed.
	kept     chan struct{}
	stopKeep context.CancelFunc
	held     *hold.Table[K, jetstream.Msg]
	feed     *feed

	mu sync.Mutex
	// failures counts those of each key since its last success, on all nodes.
	failures map[K]int
	// inFlight is the number of runs, and idle is closed when the partition is
	// leaving and there are none.
	inFlight int
	leaving  bool
	idle     chan struct{}
}

// own begins the work on a partition.
func (n *Node[K]) own(ctx context.Context, l *lease.Lease) (*partition[K], error) {
	p := &partition[K]{
		node: n, lease: l, held: hold.New[K, jetstream.Msg](n.options.Values),
		failures: map[K]int{}, idle: make(chan struct{}), kept: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	err := p.loadFailures(ctx)
	if err == nil {
		p.feed, err = n.openFeed(ctx, l.Partition, p.take)
	}
	if err != nil {
		p.cancel(err)
		return nil, fmt.Errorf("cluster: own partition %d: %w", l.Partition, err)
	}
	return p, nil
}

func (p *partition[K]) fence() Fence { return Fence{p.lease.Partition, p.lease.Epoch} }

// take takes a message, and adds its key to the node's queue. It blocks while
// the node holds as many keys as it may.
func (p *partition[K]) take(m jetstream.Msg) {
	_, _, data, err := names.Parse(m.Subject())
	var key K
	if err == nil {
		key, err = p.node.options.Codec.Decode(data)
	}
	if err != nil {
		p.node.options.Logger.Error("a key cannot be read, and is left", "subject", m.Subject(), "error", err)
		return
	}
	replaced, waits := p.held.Add(key, hold.Message[jetstream.Msg]{Sequence: sequenceOf(m), Message: m})
	for _, m := range replaced {
		_ = m.Message.Ack() // the server has deleted it, and counts it until now
	}
	if !waits {
		return
	}
	if err := p.node.queue.AddContext(p.ctx, key); err != nil {
		return // the lease is lost, or the node is closed
	}
	if priority := priorityOf(m.Headers()); priority != 0 {
		p.node.queue.AddWith(key, shardq.AddOptions{Priority: priority})
	}
}

// sequenceOf returns the place of a message in its stream.
func sequenceOf(m jetstream.Msg) uint64 {
	about, err := m.Metadata()
	if err != nil {
		return 0
	}
	return about.Sequence.Stream
}

// begin begins a run. It returns nil if no message of the key waits, or if the
// partition is leaving.
func (p *partition[K]) begin(claim worker.Claim[K]) *run[K] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving {
		return nil
	}
	messages := p.held.Begin(claim.Item)
	if messages == nil {
		return nil
	}
	p.inFlight++
	return &run[K]{key: claim.Item, claim: claim, partition: p, messages: messages, began: time.Now()}
}

// end ends a run, whose messages are acknowledged or wait for the next run.
func (p *partition[K]) end(r *run[K], done bool) {
	if done {
		for _, m := range r.messages {
			_ = m.Message.Ack() // if it is lost, the key runs again
		}
		p.held.Done(r.key)
	} else {
		p.held.Again(r.key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight--; p.leaving && p.inFlight == 0 {
		close(p.idle)
	}
}

// keep renews the lease until ctx ends, or the lease is lost.
func (p *partition[K]) keep(ctx context.Context) {
	defer close(p.kept)
	period := p.node.options.Lease / 4
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, period)
		err := p.lease.Renew(attempt)
		cancel()
		// A handler needs some time to notice.
		if err == lease.ErrLost || p.lease.Remaining() < period {
			p.cancel(ErrLeaseLost)
			return
		}
		if err != nil && ctx.Err() == nil {
			p.node.options.Logger.Warn("a lease was not renewed", "partition", p.lease.Partition, "error", err)
		}
		for _, m := range p.held.Messages() {
			_ = m.Message.InProgress() // the next time will do as well
		}
		if turn%4 == 0 {
			attempt, cancel := context.WithTimeout(ctx, period)
			p.feed.check(attempt, p.held.Holds)
			cancel()
		}
	}
}

// beginLeave stops to take messages and to begin runs. It returns false if that
// has happened before.
func (p *partition[K]) beginLeave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving {
		return false
	}
	if p.leaving = true; p.inFlight == 0 {
		close(p.idle)
	}
	return true
}

// leave waits until no key is in flight or ctx ends, and then gives the lease
// back.
func (p *partition[K]) leave(ctx context.Context) {
	p.feed.close()
	select {
	case <-p.idle:
	case <-p.ctx.Done():
	case <-ctx.Done():
	}
	p.cancel(ErrLeaseLost)
	p.stopKeep()
	<-p.kept
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.node.options.Lease)
	defer cancel()
	_ = p.node.connection.FlushWithContext(release) // the acknowledgements
	if err := p.lease.Release(release); err != nil && err != lease.ErrLost {
		p.node.options.Logger.Warn("a lease was not given back, and expires", "partition", p.lease.Partition, "error", err)
	}
}

// A failureRecord is what the servers keep of a key that has failed.
type failureRecord struct {
	Failures int       `json:"failures"`
	Time     time.Time `json:"time"`
}

// loadFailures reads how often the keys of the partition have failed.
func (p *partition[K]) loadFailures(ctx context.Context) error {
	n := p.node
	info, err := n.streams.state.Info(ctx, jetstream.WithSubjectFilter(n.names.Of(names.Failures, p.lease.Partition)))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		m, err := n.streams.state.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			continue // it has been forgotten meanwhile
		}
		var r failureRecord
		_, _, data, err := names.Parse(subject)
		if err == nil {
			err = json.Unmarshal(m.Data, &r)
		}
		key, keyErr := n.options.Codec.Decode(data)
		if err == nil && keyErr == nil && r.Failures > 0 {
			p.failures[key] = r.Failures
		}
	}
	return nil
}

func (p *partition[K]) failuresOf(key K) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures[key]
}

// failed counts a failure of a key, and returns how many there are now.
func (p *partition[K]) failed(ctx context.Context, key K) (failures int, err error) {
	p.mu.Lock()
	p.failures[key]++
	failures = p.failures[key]
	p.mu.Unlock()
	return failures, p.recordFailures(ctx, key, failures)
}

// forget forgets the failures of a key.
func (p *partition[K]) forget(ctx context.Context, key K) error {
	p.mu.Lock()
	failures := p.failures[key]
	delete(p.failures, key)
	p.mu.Unlock()
	if failures == 0 {
		return nil
	}
	return p.recordFailures(ctx, key, 0)
}

// recordFailures has the servers keep the number of failures of a key. If it is
// 0, they forget it soon.
func (p *partition[K]) recordFailures(ctx context.Context, key K, failures int) error {
	data, err := json.Marshal(failureRecord{Failures: failures, Time: time.Now()})
	if err != nil {
		return err
	}
	_, token, err := p.node.place(key)
	if err != nil {
		return err
	}
	var life []jetstream.PublishOpt
	if failures == 0 {
		life = append(life, jetstream.WithMsgTTL(time.Second))
	}
	m := nats.NewMsg(p.node.names.Key(names.Failures, p.lease.Partition, token))
	m.Data = data
	return p.node.publish(ctx, m, life...)
}
