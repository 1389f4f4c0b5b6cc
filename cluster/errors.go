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

	"github.com/shardq/shardq/cluster/internal/lease"
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

// publish publishes a message that may be stored twice.
func (n *Node[K]) publish(outer context.Context, m *nats.Msg, options ...jetstream.PublishOpt) error {
	ctx, cancel := context.WithTimeout(outer, electionTime)
	defer cancel()
	err := patiently(ctx, passes, func(attempt context.Context) error {
		_, err := n.js.PublishMsg(attempt, m, options...)
		return n.explain(ctx, m.Subject, err)
	})
	return unanswered(n.connection, err)
}

// patiently calls f while its error passes. Each attempt has a time of its own,
// and a longer one than that before: to a server that is late, and not lost,
// repeated requests are only more work.
func patiently(ctx context.Context, passes func(error) bool, f func(attempt context.Context) error) error {
	patience := attemptTime
	return retryIf(ctx, passes, func() error {
		attempt, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		patience *= 2
		return f(attempt)
	})
}

// unanswered says what to check.
func unanswered(connection *nats.Conn, err error) error {
	if !hasNoAnswer(err) {
		return err
	}
	if last := connection.LastError(); errors.Is(last, nats.ErrPermissionViolation) {
		err = fmt.Errorf("%w: %w", last, err)
	}
	return fmt.Errorf("no server answers: is JetStream enabled, has it a leader and room, "+
		"and are the domain, the account and its permissions right? %w", err)
}

func hasNoAnswer(err error) bool {
	return slices.ContainsFunc([]error{
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrTimeout, context.DeadlineExceeded, os.ErrDeadlineExceeded,
	}, func(each error) bool { return errors.Is(err, each) })
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
	case lease.IsFull(err):
		return fmt.Errorf("%w: %w", ErrStore, err)
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

// retryIf calls f for electionTime, while its error passes.
func retryIf(ctx context.Context, passes func(error) bool, f func() error) error {
	for begin := time.Now(); ; {
		err := f()
		if err == nil || !passes(err) || time.Since(begin) > electionTime {
			return err
		}
		if ended := pause(ctx, electionWait); errors.Is(err, ended) {
			return err
		} else if ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
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
	codeOffline     = 10118 // all servers of the stream, or a new leader has not heard of them
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
	switch {
	case lease.IsFull(err):
		return false
	case !ok:
		return hasNoAnswer(err) || slices.ContainsFunc([]error{
			nats.ErrDisconnected, nats.ErrReconnectBufExceeded, jetstream.ErrAsyncPublishTimeout, jetstream.ErrTooManyStalledMsgs,
		}, func(each error) bool { return errors.Is(err, each) })
	}
	switch api.ErrorCode {
	case codeNoPeers:
		// With another reason the servers are too few, or without the tags.
		return !strings.Contains(api.Description, ",") || strings.Contains(api.Description, "offline")
	case codeDuplicate, codeTooMany, codeOffline:
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
	case hasCode(err, codeStoreFailed), lease.IsFull(err):
		return fmt.Errorf("%w: %w", ErrStore, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("cluster: add: not known to be stored: %w", err)
	}
	return fmt.Errorf("cluster: add: %w", err)
}
