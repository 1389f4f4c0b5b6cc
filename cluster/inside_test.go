package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster/internal/lease"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/worker"
)

func inProcess(t *testing.T, dir string) *Node[string] {
	node, err := Join(t.Context(), Options[string]{Name: "inside", Dir: dir, Partitions: 1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	return node
}

// A meddler does something before or after a stream is read.
type meddler struct {
	jetstream.Stream
	before, after func() error // of GetLastMsgForSubject
	get, info     func() error // before GetMsg and Info
}

func (m *meddler) Info(ctx context.Context, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	if err := do(&m.info); err != nil {
		return nil, err
	}
	return m.Stream.Info(ctx, options...)
}

func (m *meddler) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if err := do(&m.before); err != nil {
		return nil, err
	}
	last, err := m.Stream.GetLastMsgForSubject(ctx, subject)
	return last, errors.Join(err, do(&m.after))
}

func (m *meddler) GetMsg(ctx context.Context, sequence uint64, options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if err := do(&m.get); err != nil {
		return nil, err
	}
	return m.Stream.GetMsg(ctx, sequence, options...)
}

// do calls a function once.
func do(f *func() error) error {
	once := *f
	if *f = nil; once == nil {
		return nil
	}
	return once()
}

// cancel cancels a key, and returns what is then.
func cancel(t *testing.T, node *Node[string]) Status {
	canceled, err := node.Cancel(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, canceled)
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	return s
}

func TestACancelMeetsAnAdd(t *testing.T) {
	node := inProcess(t, t.TempDir())
	add := func() error { return node.Add(t.Context(), "a") }
	require.NoError(t, add())
	node.streams.work[0] = &meddler{Stream: node.streams.work[0], after: add}
	require.EqualValues(t, 1, cancel(t, node).Pending)
}

func TestACancelMeetsTheEndOfADelay(t *testing.T) {
	node := inProcess(t, t.TempDir())
	require.NoError(t, node.AddAfter(t.Context(), "a", time.Hour))
	delayed := node.streams.delayed
	node.streams.delayed = &meddler{Stream: delayed, before: func() error {
		_, token, err := node.place("a")
		if err == nil {
			err = delayed.Purge(t.Context(), jetstream.WithPurgeSubject(node.names.Key(names.Delay, 0, token)))
		}
		return errors.Join(err, node.Add(t.Context(), "a"))
	}}
	s := cancel(t, node)
	require.Zero(t, s.Pending+s.Delayed)
}

// TestFailuresAreReadAgain checks that the attempts of a key count although the
// first look at them has failed.
func TestFailuresAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	attempts := func(node *Node[string], fails error) (all []int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		require.NoError(t, node.RunWith(ctx, RunOptions[string]{Workers: 1, Handle: func(_ context.Context, c Claim[string]) error {
			all = append(all, c.Attempt())
			cancel()
			return fails
		}}))
		return all
	}
	node := inProcess(t, dir)
	require.NoError(t, node.Add(t.Context(), "a"))
	before := attempts(node, errors.New("no"))
	require.NoError(t, node.Close())

	node = inProcess(t, dir)
	node.streams.state = &meddler{Stream: node.streams.state, get: func() error { return errors.New("no answer") }}
	require.Equal(t, []int{before[len(before)-1] + 1}, attempts(node, nil))
}

// own returns the partition, which nothing reads or keeps.
func own(t *testing.T, node *Node[string]) *partition[string] {
	leases := lease.Store{
		JetStream: node.js, Stream: node.streams.state, Subject: node.names.Lease, Node: node.id, Time: time.Minute, Floor: node.lastEpoch,
	}
	l, err := leases.Acquire(t.Context(), 0)
	require.NoError(t, err)
	node.owned[0] = node.newPartition(l)
	return node.owned[0]
}

// TestAFenceError checks that only a greater epoch than the partition's raises it,
// while the lease is held, and that the run counts as none.
func TestAFenceError(t *testing.T) {
	node := inProcess(t, t.TempDir())
	require.NoError(t, node.Add(t.Context(), "a"))
	p := own(t, node)
	p.failures["a"] = 3
	require.NoError(t, p.feed.begin(t.Context()))
	claims := make([]worker.Claim[string], 1)
	_, err := source[string]{node}.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	r, fence := node.runs["a"], &FenceError{p.lease.Epoch}
	require.Equal(t, fence, r.judge(fence), "a failure as any other")
	fence.Epoch = 1 << 40
	require.NotEqual(t, fence, r.judge(fence))
	require.NoError(t, source[string]{node}.ReturnClaim("a", r.claim.Token(), worker.Return{Reason: worker.ReturnRequeue, After: keepFor}))
	require.Equal(t, 3, p.failuresOf("a"))
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, []uint64{1, 0}, []uint64{s.Pending, s.Delayed})

	require.Equal(t, errEpoch, p.keep())
	require.Equal(t, fence, r.judge(fence), "the run has ended")
	require.NoError(t, p.lease.Release(t.Context()))
	next := own(t, node)
	require.Greater(t, next.lease.Epoch, fence.Epoch+1<<31)
	require.NoError(t, next.lease.Release(t.Context()))
	next.seen <- 1 << 50
	require.Equal(t, ErrLeaseLost, next.keep())
	require.Less(t, own(t, node).lease.Epoch, uint64(1<<50))
}

// TestAStreamDoesNotAnswer checks that a partition is opened again after several
// checks without an answer in a row, so that it fails.
func TestAStreamDoesNotAnswer(t *testing.T) {
	node := inProcess(t, t.TempDir())
	f := own(t, node).feed
	require.NoError(t, f.begin(t.Context()))
	defer f.close()
	work := &meddler{Stream: f.stream}
	f.stream = work
	check := func(answer error) {
		work.info = func() error { return answer }
		f.check(t.Context(), func(uint64) bool { return true })
	}
	no := errors.New("the stream is offline")
	for _, answer := range []error{no, no, nil, no, no} {
		check(answer)
		require.Empty(t, f.broke)
	}
	check(no)
	require.Len(t, f.broke, 1)
}

// TestAKeyThatWasAddedAgain checks that a key which is taken out of turn runs, and
// is deleted afterwards, as it was not delivered.
func TestAKeyThatWasAddedAgain(t *testing.T) {
	node := inProcess(t, t.TempDir())
	require.NoError(t, node.Add(t.Context(), "a"))
	p := own(t, node)
	_, token, err := node.place("a")
	require.NoError(t, err)
	p.crowd.listens(p.crowd.places)
	p.takeMoved()
	require.Zero(t, p.held.Len())
	for range 2 {
		p.crowd.hear(node.names.Key(names.Work, 0, token))
	}
	p.takeMoved()
	claims := make([]worker.Claim[string], 1)
	_, err = source[string]{node}.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, "a", claims[0].Item)
	require.NoError(t, claims[0].Done())
	info, err := node.streams.work[0].Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.State.Msgs)
}
