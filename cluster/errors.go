package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A stream has no leader for up to nine seconds after it was made, or has lost
// its leader: a request is repeated for electionTime.
const (
	electionTime = 20 * time.Second
	electionWait = 100 * time.Millisecond
	attemptTime  = 2 * time.Second

	publishWindow = 1024 // messages that no server has answered yet
	// answerTime is the wait for such an answer. The servers recognize the second
	// move of a delayed value for much longer, and store the value once.
	answerTime = 2 * time.Second
)

// publish publishes a message that may be stored twice. Each attempt waits longer:
// to a server that is late, and not lost, repeated messages are only more work.
func (n *Node[K]) publish(outer context.Context, m *nats.Msg, options ...jetstream.PublishOpt) error {
	ctx, cancel := context.WithTimeout(outer, electionTime)
	defer cancel()
	patience := attemptTime
	return retry(ctx, func() error {
		attempt, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		patience *= 2
		_, err := n.js.PublishMsg(attempt, m, options...)
		return n.explain(ctx, m.Subject, err)
	})
}

// publishOnce repeats only a message that the servers have refused.
func (n *Node[K]) publishOnce(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	return retryIf(ctx, isRefused, func() error {
		_, err := n.js.PublishMsg(ctx, m)
		return n.explain(ctx, m.Subject, err)
	})
}

func isRefused(err error) bool {
	return passes(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded)
}

// publishAsync waits only if too many answers are outstanding.
func publishAsync(js jetstream.JetStream, m *nats.Msg, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return js.PublishMsgAsync(m, append(options, jetstream.WithStallWait(5*time.Second))...)
}

// explain returns an error that does not pass if nobody answers because the
// server of this process says that its store has failed, or the stream was deleted.
func (n *Node[K]) explain(ctx context.Context, subject string, err error) error {
	switch {
	case err == nil:
		return nil
	case n.server != nil && n.store.hasFailed(n.server):
		return ErrStore
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		ask, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		if _, unknown := n.js.StreamNameBySubject(ask, subject); errors.Is(unknown, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("the stream of %s was deleted, and Join makes it again: %w", subject, unknown)
		}
	}
	return err
}

// A storeCheck asks a server at most once a second whether its store has failed:
// it does not answer what it cannot store.
type storeCheck struct {
	asked  atomic.Int64
	failed atomic.Bool
}

func (c *storeCheck) hasFailed(s *server.Server) bool {
	now, last := time.Now().UnixNano(), c.asked.Load()
	if now-last > int64(time.Second) && c.asked.CompareAndSwap(last, now) {
		health := s.Healthz(&server.HealthzOptions{Details: true})
		c.failed.Store(!s.JetStreamEnabled() || slices.ContainsFunc(health.Errors, func(e server.HealthzError) bool {
			return strings.Contains(e.Error, "write error")
		}))
	}
	return c.failed.Load()
}

// retry calls f for electionTime, while its error passes.
func retry(ctx context.Context, f func() error) error { return retryIf(ctx, passes, f) }

func retryIf(ctx context.Context, passes func(error) bool, f func() error) error {
	for begin := time.Now(); ; {
		err := f()
		if err == nil || !passes(err) || time.Since(begin) > electionTime {
			return err
		}
		if ended := pause(ctx, electionWait); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	codeNoPeers     = 10005 // the replicas of a stream have no place
	codeNoMessage   = 10043
	codeStoreFailed = 10077 // a limit is exceeded, or the store has an error
	codeDuplicate   = 10158 // it is storing another message of the id
	codeBusy        = 10164 // it is storing another message of the subject, which may fail yet
	codeTooMany     = 10167 // requests
)

func hasCode(err error, code jetstream.ErrorCode) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == code
}

func isConflict(err error) bool { return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence) }

// isFull reports whether a limit was exceeded. The server has one code for all.
func isFull(err error) bool {
	return hasCode(err, codeStoreFailed) && strings.Contains(err.Error(), "maximum")
}

// passes reports whether an error passes, as those of an election do.
func passes(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return slices.ContainsFunc([]error{
			nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrTimeout, context.DeadlineExceeded,
			nats.ErrReconnectBufExceeded, os.ErrDeadlineExceeded, // a write to a frozen server
			jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout, jetstream.ErrTooManyStalledMsgs,
		}, func(each error) bool { return errors.Is(err, each) })
	}
	switch api.ErrorCode {
	case codeNoPeers:
		// With another reason the servers are too few, or without the tags.
		return !strings.Contains(api.Description, ",") || strings.Contains(api.Description, "offline")
	case codeDuplicate, codeTooMany:
		return true
	case codeStoreFailed, jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return false
	}
	return api.Code == http.StatusServiceUnavailable
}

func (n *Node[K]) added(count int, err error) error {
	switch {
	case err == nil:
		n.counts.added.Add(uint64(count))
		return nil
	case isFull(err):
		return ErrFull
	case n.closed.Load():
		return ErrClosed
	case errors.Is(err, ErrStore):
		return err
	case hasCode(err, codeStoreFailed):
		return fmt.Errorf("%w: %w", ErrStore, err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("cluster: add: no server leads the stream: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("cluster: add: not known to be stored, as no server has answered in time: %w", err)
	}
	return fmt.Errorf("cluster: add: %w", err)
}
