package cluster

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A late server answers after a time, or not before the context ends.
type late struct {
	jetstream.JetStream
	after time.Duration
	errs  []error // of the first attempts
}

func (l *late) PublishMsg(ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if err := pause(ctx, l.after); err != nil {
		return nil, err
	}
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return nil, err
	}
	if l.JetStream == nil {
		return &jetstream.PubAck{}, nil
	}
	return l.JetStream.PublishMsg(ctx, m, options...)
}

// TestALateDisk checks that a store which needs longer than an attempt is not
// taken for one that has stopped.
func TestALateDisk(t *testing.T) {
	t.Parallel()
	node := inProcess(t, t.TempDir())
	node.js = &late{JetStream: node.js, after: attemptTime + 100*time.Millisecond}
	require.NoError(t, node.Add(t.Context(), "a"))
}

// TestAnAnswerThatDoesNotCome checks how long an add waits, and that it says
// what is known.
func TestAnAnswerThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := Options[string]{Name: "late"}.complete()
		require.NoError(t, err)
		server := &late{after: time.Hour}
		node := &Node[string]{options: o, js: server}
		began, m := time.Now(), nats.NewMsg("a")
		err = node.added(1, node.publish(t.Context(), m))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, ErrStore)
		require.ErrorContains(t, err, "not known to be stored")
		require.Equal(t, electionTime, time.Since(began))

		// What the server says of an id, or of too many requests, passes.
		server.after = 0
		server.errs = []error{
			&jetstream.APIError{Code: 409, ErrorCode: codeDuplicate}, &jetstream.APIError{Code: 429, ErrorCode: codeTooMany},
		}
		require.NoError(t, node.publish(t.Context(), m))

		// A value whose write was cut may have been stored, and is sent once.
		server.errs = []error{os.ErrDeadlineExceeded, nil}
		require.ErrorIs(t, node.publishOnce(t.Context(), m), os.ErrDeadlineExceeded)
		require.Len(t, server.errs, 1)

		// What it says of its store, or of a limit, does not.
		failed := &jetstream.APIError{Code: 503, ErrorCode: codeStoreFailed, Description: "no space left on device"}
		server.errs = []error{failed}
		require.ErrorIs(t, node.added(1, node.publish(t.Context(), m)), ErrStore)
		failed.Description = "maximum messages exceeded"
		server.errs = []error{failed}
		require.ErrorIs(t, node.added(1, node.publish(t.Context(), m)), ErrFull)
		require.False(t, errors.Is(ErrFull, ErrStore))
	})
}

// Servers on which another node makes a stream do not know it at first.
type making struct {
	jetstream.JetStream
	known atomic.Int32 // from the fourth look
}

func (m *making) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if m.known.Add(1) < 4 {
		return nil, jetstream.ErrStreamNotFound
	}
	return m.JetStream.Stream(ctx, name)
}

func (m *making) CreateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if _, err := m.JetStream.CreateStream(ctx, c); err != nil {
		return nil, err
	}
	return nil, jetstream.ErrStreamNameAlreadyInUse
}

func TestNodesThatMakeAQueueTogether(t *testing.T) {
	t.Parallel()
	node := inProcess(t, t.TempDir())
	o, err := Options[string]{Name: "two", Partitions: 1}.complete()
	require.NoError(t, err)
	streams, err := openStreams(t.Context(), &making{JetStream: node.js}, o)
	require.NoError(t, err)
	require.NotNil(t, streams.state)
}
