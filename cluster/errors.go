package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

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

// publish publishes a message that may be stored twice.
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

// publishOnce does not repeat a message whose answer is lost.
func (n *Node[K]) publishOnce(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, electionTime)
	defer cancel()
	_, err := n.js.PublishMsg(ctx, m, jetstream.WithRetryWait(electionWait), jetstream.WithRetryAttempts(int(electionTime/electionWait)))
	return n.orStore(err)
}

// publishAsync waits only if too many answers are outstanding.
func publishAsync(js jetstream.JetStream, m *nats.Msg, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return js.PublishMsgAsync(m, append(options, jetstream.WithStallWait(5*time.Second))...)
}

// orStore returns ErrStore for a late server in this process: no network lies
// between.
func (n *Node[K]) orStore(err error) error {
	if n.server != nil && errors.Is(err, context.DeadlineExceeded) {
		return ErrStore
	}
	return err
}

// retry calls f for electionTime, while its error passes.
func retry(ctx context.Context, f func() error) error {
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
	codeStoreFailed = 10077 // the message exceeds a limit
	codeBusy        = 10164 // it is storing another message of the subject, which may fail yet
)

func hasCode(err error, code jetstream.ErrorCode) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == code
}

func isConflict(err error) bool { return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence) }

func isFull(err error) bool { return hasCode(err, codeStoreFailed) }

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
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("cluster: add: no server leads the stream: are they running, with room on their disks? %w", err)
	}
	return fmt.Errorf("cluster: add: %w", err)
}
