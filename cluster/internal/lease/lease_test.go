package lease_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/cluster/internal/lease"
)

// stores returns the stores of two nodes.
func stores(t *testing.T) (a, b *lease.Store) {
	servers := clustertest.Start(t, 1)
	conn, err := nats.Connect(servers.URLs())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "leases", Subjects: []string{"lease.*"}, MaxMsgsPerSubject: 1, AllowMsgTTL: true,
		SubjectDeleteMarkerTTL: time.Minute, AllowDirect: true,
	})
	require.NoError(t, err)
	store := func(node string) *lease.Store {
		return &lease.Store{
			JetStream: js, Stream: stream, Node: node, Time: time.Second,
			Subject: func(partition int) string { return "lease." + strconv.Itoa(partition) },
			Floor:   func(context.Context, int) (uint64, error) { return 0, nil },
		}
	}
	return store("a"), store("b")
}

func acquire(t *testing.T, s *lease.Store, partition int) *lease.Lease {
	l, err := s.Acquire(t.Context(), partition)
	require.NoError(t, err)
	return l
}

func TestALeaseHasOneOwner(t *testing.T) {
	a, b := stores(t)
	first := acquire(t, a, 1)
	require.True(t, first.IsFresh())
	require.NoError(t, first.Renew(t.Context()))
	_, err := b.Acquire(t.Context(), 1)
	require.ErrorIs(t, err, lease.ErrHeld)
	_, err = a.Acquire(t.Context(), 1)
	require.ErrorIs(t, err, lease.ErrHeld, "not twice, either")
	other := acquire(t, b, 2)
	require.Greater(t, other.Epoch, first.Epoch)

	require.NoError(t, first.Release(t.Context()))
	require.ErrorIs(t, first.Renew(t.Context()), lease.ErrLost)
	second := acquire(t, b, 1)
	require.Greater(t, second.Epoch, other.Epoch)
}

// TestALeaseThatExpires checks that a node which comes too late can neither
// renew the lease of the next owner nor give it back.
func TestALeaseThatExpires(t *testing.T) {
	a, b := stores(t)
	late := acquire(t, a, 1)
	var next *lease.Lease
	require.Eventually(t, func() bool {
		var err error
		next, err = b.Acquire(t.Context(), 1)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	require.LessOrEqual(t, late.Remaining(), time.Duration(0))
	require.False(t, late.IsFresh())
	require.ErrorIs(t, late.Renew(t.Context()), lease.ErrLost)
	require.ErrorIs(t, late.Release(t.Context()), lease.ErrLost)
	require.NoError(t, next.Renew(t.Context()))
	require.Greater(t, next.Epoch, late.Epoch)

	// Nor that of its own node, in a later epoch.
	require.NoError(t, next.Release(t.Context()))
	again := acquire(t, a, 1)
	require.ErrorIs(t, late.Renew(t.Context()), lease.ErrLost)
	require.Greater(t, again.Epoch, next.Epoch)
}

type crowded struct {
	jetstream.JetStream
	full bool
}

func (c *crowded) Publish(ctx context.Context, subject string, data []byte, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if c.full {
		return nil, &jetstream.APIError{Code: 503, ErrorCode: 10023}
	}
	return c.JetStream.Publish(ctx, subject, data, o...)
}

// TestALeaseWithoutRoom checks that a lease goes on, unless another node has
// acquired it, it is gone beside room, or it was not renewed for too long.
func TestALeaseWithoutRoom(t *testing.T) {
	a, b := stores(t)
	js := &crowded{JetStream: a.JetStream}
	a.JetStream = js
	expired := func(renews bool) *lease.Lease {
		js.full = false
		require.NoError(t, a.Stream.Purge(t.Context()))
		l := acquire(t, a, 1)
		js.full = true
		require.NoError(t, l.Renew(t.Context()))
		require.Eventually(t, func() bool {
			m, err := a.Stream.GetLastMsgForSubject(t.Context(), "lease.1")
			return renews && l.Renew(t.Context()) != nil ||
				err == nil && m.Header.Get(jetstream.MarkerReasonHeader) != "" && (renews || l.Remaining() <= 0)
		}, 30*time.Second, 10*time.Millisecond)
		return l
	}
	l := expired(true)
	js.full = false
	require.NoError(t, l.Renew(t.Context()))
	_, err := b.Acquire(t.Context(), 1)
	require.ErrorIs(t, err, lease.ErrHeld)
	require.NoError(t, a.Stream.Purge(t.Context()))
	require.ErrorIs(t, l.Renew(t.Context()), lease.ErrLost)
	l = expired(true)
	acquire(t, b, 1)
	require.ErrorIs(t, l.Renew(t.Context()), lease.ErrLost)
	require.ErrorIs(t, expired(false).Renew(t.Context()), lease.ErrLost)
}

// TestEpochsAfterARollback checks that they grow, and are above the floor, also if
// an owner between has left no trace there.
func TestEpochsAfterARollback(t *testing.T) {
	a, _ := stores(t)
	last := uint64(1)
	for _, floor := range []uint64{last, 1000, 1000} { // the first message has the epoch of the floor
		a.Floor = func(context.Context, int) (uint64, error) { return floor, nil }
		l := acquire(t, a, 1)
		require.Greater(t, l.Epoch, max(last, floor))
		last = l.Epoch
		require.NoError(t, l.Release(t.Context()))
	}
}
