package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster/internal/hold"
	"github.com/shardq/shardq/cluster/internal/lease"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/worker"
)

// A partition is a node's ownership of a partition under one lease.
type partition[K comparable] struct {
	node   *Node[K]
	lease  *lease.Lease
	slot   *slot
	ctx    context.Context // ends when the lease may be lost, and when the partition was left
	cancel context.CancelCauseFunc
	kept   chan struct{} // closed when the lease is no longer renewed
	seen   chan uint64   // gets the epoch of a sink that has seen a greater one
	held   *hold.Table[K, jetstream.Msg]
	feed   *feed[K]

	crowd    *crowd
	disowned atomic.Bool

	// For the goroutine that reads: whether the failures were loaded, and the
	// subscription of adds, while the partition is crowded.
	loaded bool
	adds   *nats.Subscription

	mu       sync.Mutex
	failures map[K]int // since the last success, on all nodes
	inFlight int       // runs
	leaving  bool
	idle     chan struct{} // closed when leaving and nothing is in flight
}

func (n *Node[K]) newPartition(l *lease.Lease) *partition[K] {
	p := &partition[K]{
		node: n, lease: l, slot: n.slots[l.Partition], held: hold.New[K, jetstream.Msg](n.options.Values),
		failures: map[K]int{}, idle: make(chan struct{}), kept: make(chan struct{}), seen: make(chan uint64, 1),
		crowd: newCrowd(n.options.maxTaken()),
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(p.ctx, func() { n.cancelRuns(p) })
	p.feed = &feed[K]{
		node: n, stream: n.streams.work[l.Partition], partition: l.Partition, epoch: l.Epoch, take: p.take, logger: p.slot.logger, broke: make(chan struct{}, 1),
	}
	p.feed.ctx, p.feed.cancel = context.WithCancel(p.ctx)
	return p
}

// read opens the partition, and again when it breaks or could not be opened,
// until it is left or lost. The lease stays: no other node would do better.
func (p *partition[K]) read() {
	defer p.stopHearing()
	for ctx := p.feed.ctx; ctx.Err() == nil; _ = pause(ctx, p.slot.wait()) {
		if err := p.open(); err != nil {
			if ctx.Err() == nil {
				p.slot.on(failed, err)
			}
			continue
		}
		if ctx.Err() != nil {
			return // the slot may have another owner by now
		}
		p.slot.on(opened, nil)
		if p.follow() {
			p.slot.on(broke, nil)
		}
	}
}

// follow returns when the feed has broken, or the partition is left or lost.
func (p *partition[K]) follow() (broken bool) {
	for {
		select {
		case <-p.crowd.turn:
			p.lookAtCrowd()
		case <-p.feed.broke:
			return true
		case <-p.feed.ctx.Done():
			return false
		}
	}
}

// Servers that elect a consumer's leader may answer never, and then at once.
func (p *partition[K]) open() error {
	return patiently(p.feed.ctx, passes, func(attempt context.Context) error {
		if err := p.loadFailures(attempt); err != nil {
			return err
		}
		return p.feed.begin(attempt)
	})
}

// take does not block: the server limits what a partition holds.
func (p *partition[K]) take(m jetstream.Msg, sequence uint64) {
	_, _, data, err := names.Parse(m.Subject())
	var key K
	if err == nil {
		key, err = p.node.decode(data)
	}
	if err != nil {
		go p.buryUnreadable(m, sequence, err)
		return
	}
	replaced, waits := p.held.Add(key, hold.Message[jetstream.Msg]{Sequence: sequence, Message: m})
	for _, m := range replaced {
		_ = m.Message.Ack() // the server has deleted it, and counts it until now
	}
	if waits {
		p.node.queue.AddWith(key, shardq.AddOptions{Priority: priorityOf(m.Headers())})
	}
}

// begin returns nil if no message waits, or if the partition is leaving.
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

func (p *partition[K]) end(r *run[K], done bool) {
	if p.held.End(r.key, done) {
		for _, m := range r.messages {
			_ = m.Message.Ack() // if it is lost, the key runs again
		}
	}
	if !p.node.options.Values { // a value has its place
		p.crowd.ran(p.held.Len())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight--; p.leaving && p.inFlight == 0 {
		close(p.idle)
	}
}

// keep ends a renewal that has begun, so that the lease can be given back.
func (p *partition[K]) keep() error {
	defer close(p.kept)
	period := p.margin()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	p.expire()
	for turn := 1; ; turn++ {
		var seen uint64
		select {
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		case seen = <-p.seen:
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), period)
		err := patiently(ctx, passes, p.lease.Renew)
		cancel()
		if errors.Is(err, lease.ErrLost) {
			p.cancel(ErrLeaseLost)
			continue
		}
		if err != nil {
			p.node.options.Logger.Warn("a lease was not renewed", "partition", p.lease.Partition, "error", err)
			continue // at once: the ticker has ticked meanwhile
		}
		if seen != 0 { // by a sink, and no other node has the lease
			return p.leaveEpoch(seen)
		}
		for _, m := range p.held.Messages() {
			_ = m.Message.InProgress() // the next time will do as well
		}
		if turn%4 == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), period)
			p.feed.check(ctx, p.held.Holds)
			cancel()
		}
	}
}

var errEpoch = fmt.Errorf("%w: a sink has seen a greater epoch", ErrLeaseLost)

// leaveEpoch has the next owner's epoch lie above what sinks have seen, with room
// for epochs that the servers have forgotten and no sink has told of.
func (p *partition[K]) leaveEpoch(seen uint64) error {
	const room = 1 << 32
	p.feed.close() // it would write its epoch
	ctx, cancel := p.node.settling()
	defer cancel()
	if _, err := p.feed.makeConsumer(ctx, seen+room); err != nil {
		p.slot.logger.Warn("an epoch is not raised", "error", err)
	}
	p.cancel(errEpoch)
	return errEpoch
}

// margin is how long before the end of the lease its handlers' contexts end: a
// handler needs some time to notice. It is also the time between renewals.
func (p *partition[K]) margin() time.Duration { return p.node.options.Lease / 4 }

func (p *partition[K]) expire() {
	switch left := p.lease.Remaining() - p.margin(); {
	case left <= 0:
		p.cancel(ErrLeaseLost)
	case p.ctx.Err() == nil:
		time.AfterFunc(left, p.expire)
	}
}

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

// leave ends handlers' contexts with ctx. If some go on, the lease expires.
func (p *partition[K]) leave(ctx context.Context) {
	p.feed.close()
	select {
	case <-p.idle:
	case <-p.ctx.Done():
	case <-ctx.Done():
	}
	p.cancel(context.Canceled)
	<-p.kept
	select {
	case <-p.idle:
	case <-time.After(p.lease.Remaining()):
		return
	}
	release, cancel := context.WithTimeout(context.Background(), p.node.options.Lease)
	defer cancel()
	_ = p.node.connection.FlushWithContext(release) // the acknowledgements
	if err := patiently(release, passes, p.lease.Release); err != nil && err != lease.ErrLost {
		p.node.options.Logger.Warn("a lease was not given back, and expires", "partition", p.lease.Partition, "error", err)
	}
}

type failureRecord struct {
	Failures int       `json:"failures"`
	Time     time.Time `json:"time"`
}

// loadFailures makes no consumer if there is nothing to load: all together, the
// partitions of a queue could exceed a limit of the servers.
func (p *partition[K]) loadFailures(ctx context.Context) error {
	state, subjects := p.node.streams.state, p.node.names.Of(names.Failures, p.lease.Partition)
	if p.loaded {
		return nil
	}
	_, err := state.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subjects))
	switch {
	case err == nil:
		err = p.readFailures(ctx, state, subjects)
	case errors.Is(err, jetstream.ErrMsgNotFound):
		err = nil
	}
	p.loaded = err == nil
	return err
}

func (p *partition[K]) readFailures(ctx context.Context, state jetstream.Stream, subjects string) error {
	const atOnce = 1000
	c, err := state.CreateOrUpdateConsumer(ctx, lastOf(subjects))
	if err != nil {
		return err
	}
	defer deleteConsumer(state, c)
	for left := int(c.CachedInfo().NumPending); left > 0; {
		batch, err := c.Fetch(min(left, atOnce), jetstream.FetchMaxWait(attemptTime))
		if err != nil {
			return err
		}
		n := 0
		for m := range batch.Messages() {
			p.noteFailures(m)
			n++
		}
		if left -= n; n == 0 {
			return errors.Join(batch.Error(), ctx.Err(), fmt.Errorf("%d records of failures were not read", left))
		}
	}
	return nil
}

// deleteConsumer spares the servers a consumer that nobody reads any more. If it
// fails, they delete it later.
func deleteConsumer(stream jetstream.Stream, c jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, c.CachedInfo().Name)
}

func (p *partition[K]) noteFailures(m jetstream.Msg) {
	var r failureRecord
	_, _, data, err := names.Parse(m.Subject())
	if err == nil {
		err = json.Unmarshal(m.Data(), &r)
	}
	if err != nil || r.Failures == 0 {
		return // it has been forgotten
	}
	if key, err := p.node.decode(data); err == nil {
		p.mu.Lock()
		p.failures[key] = r.Failures
		p.mu.Unlock()
	}
}

func (p *partition[K]) forgetAll() {
	p.mu.Lock()
	keys := slices.Collect(maps.Keys(p.failures))
	p.mu.Unlock()
	for _, key := range keys {
		p.node.limiter.Forget(key)
	}
}

func (p *partition[K]) failuresOf(key K) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures[key]
}

func (p *partition[K]) failed(ctx context.Context, key K) (failures int, err error) {
	p.mu.Lock()
	p.failures[key]++
	failures = p.failures[key]
	p.mu.Unlock()
	return failures, p.recordFailures(ctx, key, failures)
}

func (p *partition[K]) forget(key K) {
	p.node.limiter.Forget(key)
	p.mu.Lock()
	failures := p.failures[key]
	delete(p.failures, key)
	p.mu.Unlock()
	if failures == 0 {
		return
	}
	ctx, cancel := p.node.settling()
	defer cancel()
	if err := p.recordFailures(ctx, key, 0); err != nil {
		p.node.ofKeys.warn("forget", "failures are not forgotten", err)
	}
}

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
