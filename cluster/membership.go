package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/shardq/shardq/cluster/internal/lease"
	"github.com/shardq/shardq/cluster/internal/member"
)

// A membership is what a node hears of the others, and what it owns.
type membership[K comparable] struct {
	node   *Node[K]
	leases lease.Store
	table  *member.Table
	// changed tells that a member has come or gone, or that a lease is free.
	changed chan struct{}
	work    sync.WaitGroup

	// The consumer of what nodes say, when it was asked for, and if it failed.
	consumer  jetstream.Consumer
	consuming jetstream.ConsumeContext
	asked     time.Time
	failed    atomic.Bool
}

func (n *Node[K]) join(ctx context.Context) (*membership[K], error) {
	m := &membership[K]{
		node: n, table: member.NewTable(n.options.Lease), changed: make(chan struct{}, 1),
		leases: lease.Store{
			JetStream: n.js, Stream: n.streams.state, Subject: n.names.Lease, Node: n.id, Time: n.options.Lease,
			Floor: n.lastEpoch,
		},
	}
	if err := n.applySettings(ctx); err != nil {
		return nil, err
	}
	if err := m.beat(ctx); err != nil {
		return nil, err
	}
	return m, m.listen(ctx)
}

// A beaten is when the last heartbeat was stored, why not one since, and when the
// servers last had no room for one.
type beaten struct {
	at   time.Time
	err  error
	full time.Time
}

func (m *membership[K]) beat(ctx context.Context) error {
	const headers = 1 << 10
	data, err := m.node.heartbeat().encoded(m.node.connection.MaxPayload() - headers)
	if err == nil {
		err = m.say(ctx, data)
	}
	next := beaten{at: time.Now()}
	if last := m.node.beaten.Load(); last != nil {
		next.full = last.full
		if err != nil {
			next.at, next.err = last.at, err
		}
	} else if err != nil {
		return err
	}
	if errors.Is(err, ErrStore) {
		next.full = time.Now()
	}
	m.node.beaten.Store(&next)
	return err
}

func (m *membership[K]) say(ctx context.Context, data []byte) error {
	heartbeat := nats.NewMsg(m.node.names.Member(m.node.id))
	heartbeat.Data = data
	return m.node.publish(ctx, heartbeat, jetstream.WithMsgTTL(m.node.options.Lease))
}

func (m *membership[K]) hear(msg jetstream.Msg) {
	switch {
	case msg.Subject() == m.node.names.Settings():
		wake(m.changed)
		return
	case m.node.names.IsCancel(msg.Subject()):
		m.node.hearCanceled(msg.Data())
		return
	}
	expired := msg.Headers().Get(jetstream.MarkerReasonHeader) != ""
	id, isMember := m.node.names.MemberOf(msg.Subject())
	switch gone := expired || len(msg.Data()) == 0; {
	case isMember && gone && m.table.Left(id), isMember && !gone && m.table.Heard(id, time.Now()):
		wake(m.changed)
	case !isMember:
		if r, err := lease.Read(msg.Headers(), msg.Data()); err == nil && r.Released {
			wake(m.changed)
		}
	}
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (m *membership[K]) run(ctx context.Context) {
	m.work.Go(func() { m.keepBeating(ctx) })
	ticker := time.NewTicker(m.node.options.Lease / 4)
	defer ticker.Stop()
	for ctx.Err() == nil {
		m.rebalance(ctx)
		m.applySettings(ctx)
		select {
		case <-ctx.Done():
		case <-m.changed:
		case <-ticker.C:
		}
	}
}

// applySettings also divides the rates by what the node owns now.
func (m *membership[K]) applySettings(ctx context.Context) {
	attempt, cancel := context.WithTimeout(ctx, m.node.options.Lease/4)
	defer cancel()
	if err := m.node.applySettings(attempt); err != nil && ctx.Err() == nil {
		m.node.options.Logger.Warn("the settings of the queue were not read", "error", err)
	}
}

func (m *membership[K]) keepBeating(ctx context.Context) {
	period := m.node.options.Lease / 4
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, period)
		if err := m.beat(attempt); err != nil && ctx.Err() == nil {
			m.node.options.Logger.Warn("a heartbeat failed", "error", err)
		}
		cancel()
	}
}

func (m *membership[K]) rebalance(ctx context.Context) {
	members := m.table.Members(time.Now())
	m.listenAgain(ctx, len(members) == 0)
	if len(members) == 0 {
		return // nothing was heard for long, so nobody knows better
	}
	if last := m.node.beaten.Load(); time.Since(last.full) < m.node.options.Lease {
		return // owners whose leases went on without room may not have renewed them yet
	}
	inLanes(16, m.node.options.Partitions, func(number int) {
		m.node.mu.Lock()
		p := m.node.owned[number]
		m.node.mu.Unlock()
		mine, slot := member.Owner(members, number) == m.node.id, m.node.slots[number]
		switch {
		case mine && p == nil && ctx.Err() == nil && slot.wait() <= 0:
			m.acquire(ctx, number, slot)
		case !mine && p == nil:
			slot.on(gone, nil)
		case !mine:
			m.giveUp(p)
		}
	})
}

func (m *membership[K]) acquire(ctx context.Context, number int, slot *slot) {
	attempt, cancel := context.WithTimeout(ctx, min(m.node.options.Lease/2, 2*attemptTime))
	l, err := m.leases.Acquire(attempt, number)
	cancel()
	if errors.Is(err, lease.ErrHeld) || ctx.Err() != nil && err != nil {
		return
	}
	if err != nil {
		slot.on(failed, fmt.Errorf("acquire the lease: %w", err))
		return
	}
	p := m.node.newPartition(l)
	m.node.mu.Lock()
	m.node.owned[number] = p // before it takes any message
	m.node.mu.Unlock()
	slot.on(acquired, nil)
	m.work.Go(func() {
		switch p.keep() {
		case ErrLeaseLost:
			p.feed.close()
			m.disown(p, ErrLeaseLost)
		case errEpoch: // and acquire it again
			m.giveUp(p)
		}
	})
	m.work.Go(p.read)
}

// What a partition held leaves first, and its state changes: the node may own it
// again at once.
func (m *membership[K]) disown(p *partition[K], why error) {
	if p.disowned.Swap(true) {
		return
	}
	n := m.node
	for _, key := range p.held.Close() {
		n.queue.Cancel(key)
	}
	p.forgetAll()
	p.slot.on(gone, why)
	n.mu.Lock()
	delete(n.owned, p.lease.Partition)
	n.mu.Unlock()
	wake(m.changed)
}

func (m *membership[K]) giveUp(p *partition[K]) {
	if !p.beginLeave() {
		return
	}
	p.slot.on(left, nil)
	m.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), m.node.options.LeaveTimeout)
		defer cancel()
		p.leave(ctx)
		m.disown(p, nil)
	})
}

func (m *membership[K]) leave() {
	m.stopListening()
	ctx, cancel := context.WithTimeout(context.Background(), m.node.options.Lease)
	defer cancel()
	if err := m.say(ctx, nil); err != nil {
		m.node.options.Logger.Warn("the others learn late that this node has left", "error", err)
	}
	for _, p := range m.node.partitions() {
		m.giveUp(p)
	}
	m.work.Wait()
	m.node.beaten.Store(nil)
}

// lastOf configures a consumer that begins with each subject's last message.
func lastOf(subjects ...string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Name: nuid.Next(), FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	}
}

// listen hears heartbeats and leases. It may miss some, as they are repeated.
func (m *membership[K]) listen(ctx context.Context) error {
	m.asked = time.Now()
	c, err := m.node.streams.state.CreateOrUpdateConsumer(ctx, lastOf(m.node.names.Leases(), m.node.names.Members()))
	if err != nil {
		return err
	}
	m.stopListening()
	m.failed.Store(false)
	m.consumer = c
	m.consuming, err = m.node.consume(c, jetstream.DefaultMaxMessages, 0, m.hear, func(error) { m.failed.Store(true) })
	return err
}

// listenAgain makes another consumer if a server has lost this one: it has failed,
// or does not even hear this node. The client's ordered consumer can stay silent.
func (m *membership[K]) listenAgain(ctx context.Context, silent bool) {
	half := m.node.options.Lease / 2
	if !silent && !m.failed.Load() || time.Since(m.asked) < half {
		return
	}
	attempt, cancel := context.WithTimeout(ctx, half)
	defer cancel()
	if err := m.listen(attempt); err != nil && ctx.Err() == nil {
		m.node.options.Logger.Warn("the other nodes are not heard", "error", err)
	}
}

func (m *membership[K]) stopListening() {
	if m.consuming != nil {
		m.consuming.Stop()
		deleteConsumer(m.node.streams.state, m.consumer)
		m.consuming = nil
	}
}
