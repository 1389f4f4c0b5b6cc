package cluster

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A stream has no leader for a while after it was made, and after its leader
// was lost. Requests then have no answer, or one that says so. An election
// takes up to nine seconds. So a request is repeated for electionTime, after
// electionWait each time. An attempt ends after attemptTime.
const (
	electionTime = 20 * time.Second
	electionWait = 100 * time.Millisecond
	attemptTime  = 2 * time.Second
)

// publish publishes a message that may be stored twice, and returns when it is
// stored.
func (n *Node[K]) publish(outer context.Context, m *nats.Msg, options ...jetstream.PublishOpt) error {
	return retry(outer, func() error {
		ctx, cancel := context.WithTimeout(outer, attemptTime)
		defer cancel()
		_, err := n.js.PublishMsg(ctx, m, options...)
		if ctx.Err() == context.DeadlineExceeded && outer.Err() == nil {
			return n.orStore(err)
		}
		return err
	})
}

// orStore returns ErrStore in place of an error of the server in this process,
// if it has not answered in time: no network lies between.
func (n *Node[K]) orStore(err error) error {
	if n.server != nil && errors.Is(err, context.DeadlineExceeded) {
		return ErrStore
	}
	return err
}

// publishOnce publishes a message that must not be stored twice. If its answer
// is lost, it is not repeated.
func (n *Node[K]) publishOnce(ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt) error {
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	options = append(options, jetstream.WithRetryWait(electionWait), jetstream.WithRetryAttempts(int(electionTime/electionWait)))
	_, err := n.js.PublishMsg(ctx, m, options...)
	return n.orStore(err)
}

// retry calls f until it succeeds, fails for a reason that does not pass, or
// has failed for electionTime.
func retry(ctx context.Context, f func() error) error {
	for begin := time.Now(); ; {
		err := f()
		if err == nil || !passes(err) || time.Since(begin) > electionTime {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(electionWait):
		}
	}
}

// codeNoPeers is the server's error for a stream whose replicas have no place.
const codeNoPeers = 10005

// passes reports whether an error is that of servers which have no leader yet,
// which have not heard of one another for a moment, or which did not answer in
// time.
func passes(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		if api.ErrorCode == codeNoPeers {
			// With another reason the servers are too few, or without the tags.
			return !strings.Contains(api.Description, ",") || strings.Contains(api.Description, "offline")
		}
		return api.Code == http.StatusServiceUnavailable &&
			api.ErrorCode != codeStoreFailed &&
			api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled &&
			api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, jetstream.ErrAsyncPublishTimeout) || errors.Is(err, jetstream.ErrTooManyStalledMsgs) ||
		errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}
