package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/worker"
)

const (
	keepFor     = time.Second // how long a key waits whose discard could not be written
	shortDelay  = time.Second // the shortest delay that the servers keep
	maxReplayed = 100         // failures of a key that are replayed to a limiter
)

// RunOptions configure [Node.RunWith].
type RunOptions[K comparable] struct {
	Workers int // the number of workers: 1 or more

	// Handle processes a key. Its error means the same as in [worker.Options].
	// A key that is added again may run before its backoff ends.
	Handle func(ctx context.Context, claim Claim[K]) error

	// Timeout limits an attempt, and MaxAttempts the attempts of a key on all
	// nodes: it is discarded when the last fails. If zero, there is no limit.
	Timeout     time.Duration
	MaxAttempts int

	// AbandonAfter, if set, is how much time RunWith gives handlers after the
	// node has left, and their contexts have ended: see AbandonAfter of
	// [worker.Options]. The key runs again on another node. Without it, RunWith
	// waits for all handlers.
	AbandonAfter time.Duration

	// OnError is called for each failed attempt, and OnDiscard for each dead
	// letter: see [Node.Dead]. They must be safe for concurrent use.
	OnError, OnDiscard func(context.Context, worker.Failure[K])
}

// Run processes the keys of the node's share of the partitions, in the given
// number of workers, until ctx ends. Then handlers may finish for LeaveTimeout,
// before their contexts are canceled. A handler whose lease may be lost has its
// context canceled, with the cause [ErrLeaseLost]. Run returns [Node.Err] if the
// connection was closed for good. Run can be called once.
func (n *Node[K]) Run(ctx context.Context, workers int, handle func(ctx context.Context, claim Claim[K]) error) error {
	return n.RunWith(ctx, RunOptions[K]{Workers: workers, Handle: handle})
}

// RunWith is Run with more options.
func (n *Node[K]) RunWith(ctx context.Context, options RunOptions[K]) error {
	pool, err := n.pool(options)
	if err != nil {
		return err
	}
	n.mu.Lock()
	closed, running := n.closed.Load(), n.running
	n.running = true
	n.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case running:
		return ErrRunning
	}
	m, stopDue, err := n.enter(ctx)
	if err != nil {
		n.mu.Lock()
		n.running = false
		n.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("cluster: run: %w", err)
	}
	// The workers go on while the node leaves.
	ctx, leave := context.WithCancel(ctx)
	defer context.AfterFunc(n.ended, leave)()
	working, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	var leaving sync.WaitGroup
	leaving.Go(func() {
		defer stopWorkers()
		m.run(ctx) // until ctx ends
		stopDue()
		m.leave()
	})
	defer leaving.Wait()
	defer leave() // also if a hook panics
	if err = pool.Run(working); err == nil && !n.closed.Load() {
		err = n.Err() // its connection was closed
	}
	return err
}

func (n *Node[K]) enter(ctx context.Context) (m *membership[K], stopDue func(), err error) {
	if m, err = n.join(ctx); err != nil {
		return nil, nil, err
	}
	if stopDue, err = n.moveDue(); err != nil {
		m.leave()
	}
	return m, stopDue, err
}

func (n *Node[K]) pool(o RunOptions[K]) (*worker.Pool[K], error) {
	settings := worker.Options[K]{
		Workers: o.Workers, Timeout: o.Timeout, MaxAttempts: o.MaxAttempts, OnError: o.OnError, AbandonAfter: o.AbandonAfter,
		OnDiscard: func(ctx context.Context, f worker.Failure[K]) {
			if n.bury(f) && o.OnDiscard != nil {
				o.OnDiscard(ctx, f)
			}
		},
	}
	if o.Handle != nil {
		settings.Handle = func(ctx context.Context, key K) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil) // also if Handle panics
			r := n.attempt(key, cancel)
			return r.judge(o.Handle(ctx, Claim[K]{Key: key, run: r}))
		}
	}
	return worker.New(source[K]{n}, settings)
}

// A source hands a node's keys to its workers, and settles them.
type source[K comparable] struct{ *Node[K] }

func (s source[K]) Name() string { return s.options.Name }

func (s source[K]) ClaimBatch(ctx context.Context, dst []worker.Claim[K]) (claimed int, err error) {
	for claimed == 0 {
		n, err := s.queue.ClaimBatch(ctx, dst)
		if err != nil {
			return 0, err
		}
		for _, claim := range dst[:n] {
			if s.begin(claim) {
				dst[claimed].Reset(claim.Item, claim.Priority, s, claim.Token())
				claimed++
			}
		}
	}
	return claimed, nil
}

// If a lease is too old for work to begin, the key waits for its renewal.
func (s source[K]) begin(claim worker.Claim[K]) bool {
	p := s.partitionOf(claim.Item)
	if p == nil {
		_ = claim.Done()
		return false
	}
	if !p.lease.IsFresh() {
		_ = claim.RequeueAfter(s.options.Lease / 8)
		return false
	}
	r := p.begin(claim)
	if r == nil {
		_ = claim.Done()
		return false
	}
	s.mu.Lock()
	s.runs[claim.Item] = r
	s.mu.Unlock()
	return true
}

func (n *Node[K]) partitionOf(key K) *partition[K] {
	data, err := n.options.Codec.Encode(key)
	if err != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.owned[names.Partition(data, n.options.Partitions)]
}

func (n *Node[K]) attempt(key K, cancel context.CancelCauseFunc) *run[K] {
	n.mu.Lock()
	r := n.runs[key]
	r.cancel = cancel
	n.mu.Unlock()
	if ended := r.partition.ctx; ended.Err() != nil { // before cancelRuns could see it
		cancel(context.Cause(ended))
	}
	return r
}

func (n *Node[K]) cancelRuns(p *partition[K]) {
	var all []context.CancelCauseFunc
	n.mu.Lock()
	for _, r := range n.runs {
		if r.partition == p && r.cancel != nil {
			all = append(all, r.cancel)
		}
	}
	n.mu.Unlock()
	for _, cancel := range all {
		cancel(context.Cause(p.ctx))
	}
}

func (n *Node[K]) runOf(key K) *run[K] {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runs[key]
}

func (r *run[K]) isCanceled() bool { return r.partition.held.IsCanceled(r.key) }

func (s source[K]) settle(r *run[K], done bool, end func() error) error {
	s.mu.Lock()
	delete(s.runs, r.key)
	s.mu.Unlock()
	r.partition.end(r, done)
	return end()
}

func (s source[K]) claimed(key K, token worker.Token) *run[K] {
	if r := s.runOf(key); r != nil && r.claim.Token() == token {
		return r
	}
	return nil
}

func (s source[K]) DoneClaim(key K, token worker.Token) error {
	r := s.claimed(key, token)
	if r == nil {
		return worker.ErrClaimEnded
	}
	if r.keep || r.partition.ctx.Err() != nil {
		return s.ReturnClaim(key, token, worker.Return{Reason: worker.ReturnRelease})
	}
	r.partition.forget(key)
	s.counts.done.Add(1)
	return s.settle(r, true, r.claim.Done)
}

// settling returns a context for last writes, whatever has ended.
func (n *Node[K]) settling() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), n.options.Lease)
}

func (s source[K]) ReturnClaim(key K, token worker.Token, how worker.Return) error {
	r := s.claimed(key, token)
	if r == nil {
		return worker.ErrClaimEnded
	}
	ctx, cancel := s.settling()
	defer cancel()
	how.Refused = nil // what the node's queue refuses is with the servers
	lost := r.partition.ctx.Err() != nil
	switch {
	case lost, r.isCanceled():
	case r.keep:
		how = worker.Return{Reason: worker.ReturnRequeue, After: keepFor, Priority: how.Priority}
	case how.Reason == worker.ReturnRetry:
		how.Reason, how.After = worker.ReturnRequeue, max(s.backoff(ctx, r), how.After)
	case how.Reason == worker.ReturnRequeue:
		r.partition.forget(key)
	}
	if lost { // its messages are another owner's
		return s.settle(r, false, r.claim.Done)
	}
	if r.isCanceled() { // perhaps since the failure was recorded
		r.partition.forget(key)
		return s.settle(r, true, r.claim.Done)
	}
	if s.postpone(ctx, r, how) {
		return s.settle(r, true, r.claim.Done)
	}
	return s.settle(r, false, func() error {
		if err := r.claim.Return(how); !errors.Is(err, worker.ErrShutDown) {
			return err
		}
		return nil
	})
}

// backoff first replays the failures on other nodes to the limiter.
func (s source[K]) backoff(ctx context.Context, r *run[K]) time.Duration {
	failures, err := r.partition.failed(ctx, r.key)
	if err != nil {
		s.ofKeys.warn("failure", "failures are not recorded", err)
	}
	for known := s.limiter.NumRequeues(r.key); known < min(failures-1, maxReplayed); {
		s.limiter.When(r.key)
		now := s.limiter.NumRequeues(r.key)
		if now <= known {
			break // this limiter does not count for each key
		}
		known = now
	}
	s.counts.failed.Add(1)
	return s.limiter.When(r.key)
}

// The node keeps a key that is due soon, or whose values have a place.
func (s source[K]) postpone(ctx context.Context, r *run[K], how worker.Return) bool {
	if how.Reason != worker.ReturnRequeue || how.After < shortDelay || s.options.Values || r.keep {
		return false
	}
	number, token, err := s.place(r.key)
	if err == nil {
		at := s.now().Add(how.After)
		m := s.scheduleMessage(number, token, at, how.Priority)
		carry(m.Header, r.messages[len(r.messages)-1].Message.Headers())
		err = s.schedule(ctx, m, at)
	}
	if err != nil {
		s.ofKeys.warn("delay", "delays are not stored, and this node keeps the keys", err)
	}
	return err == nil
}

func (s source[K]) ClaimValid(token worker.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		if r.claim.Token() == token {
			return true
		}
	}
	return false
}

func (s source[K]) ClaimFailures(key K) int {
	if r := s.runOf(key); r != nil {
		return r.partition.failuresOf(key)
	}
	return 0
}
