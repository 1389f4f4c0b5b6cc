package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream is one of the queue's. An attempt of a request has a time of its own,
// so that one which is lost costs no more. If a stream does not answer Join, the
// first request that it answers opens it.
type stream struct {
	jetstream.Stream // the other methods, which nobody calls
	js               jetstream.JetStream
	config           jetstream.StreamConfig
	update           bool
	opened           atomic.Pointer[jetstream.Stream]
}

func (s *stream) look(ctx context.Context) error {
	found, err := s.js.Stream(ctx, s.config.Name)
	return s.keep(found, err)
}

func (s *stream) keep(opened jetstream.Stream, err error) error {
	if err == nil {
		s.opened.Store(&opened)
	}
	return err
}

// settle makes a stream that look has not found, or compares it.
func (s *stream) settle(ctx context.Context) error {
	if found := s.opened.Load(); found != nil {
		return s.compare(ctx, (*found).CachedInfo().Config)
	}
	create := s.config
	create.Replicas = cmp.Or(create.Replicas, 1)
	made, err := s.js.CreateStream(ctx, create)
	return s.keep(made, err)
}

func (s *stream) open(ctx context.Context) error {
	err := s.look(ctx)
	if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
		err = s.settle(ctx)
	}
	if err != nil {
		s.opened.Store(nil)
	}
	return err
}

func (s *stream) try(ctx context.Context, passes func(error) bool, f func(context.Context) error) error {
	return s.named(patiently(ctx, passes, f))
}

func (s *stream) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the stream %s: %w", s.config.Name, unanswered(s.js.Conn(), err))
}

// isOpening reports whether another attempt may open a stream.
func isOpening(err error) bool {
	return isSilent(err) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) // another node was faster
}

// isSilent reports whether a stream did not answer, and may do so later.
func isSilent(err error) bool { return passes(err) || hasCode(err, codeOffline) }

// ask has a request answered by a stream, which it opens first.
func ask[A any](ctx context.Context, s *stream, of func(context.Context, jetstream.Stream) (A, error)) (answer A, err error) {
	err = patiently(ctx, passes, func(ctx context.Context) (err error) {
		if s.opened.Load() == nil {
			err = s.open(ctx)
		}
		if opened := s.opened.Load(); err == nil && opened != nil {
			answer, err = of(ctx, *opened)
		}
		return err
	})
	return answer, s.named(err)
}

// does is ask for a request whose answer says nothing.
func (s *stream) does(ctx context.Context, request func(context.Context, jetstream.Stream) error) error {
	_, err := ask(ctx, s, func(ctx context.Context, s jetstream.Stream) (struct{}, error) { return struct{}{}, request(ctx, s) })
	return err
}

func (s *stream) Info(ctx context.Context, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return ask(ctx, s, func(ctx context.Context, s jetstream.Stream) (*jetstream.StreamInfo, error) {
		return s.Info(ctx, options...)
	})
}

func (s *stream) GetMsg(ctx context.Context, sequence uint64, options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return ask(ctx, s, func(ctx context.Context, s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return s.GetMsg(ctx, sequence, options...)
	})
}

func (s *stream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return ask(ctx, s, func(ctx context.Context, s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return s.GetLastMsgForSubject(ctx, subject)
	})
}

func (s *stream) Consumer(ctx context.Context, name string) (jetstream.Consumer, error) {
	return ask(ctx, s, func(ctx context.Context, s jetstream.Stream) (jetstream.Consumer, error) {
		return s.Consumer(ctx, name)
	})
}

// CreateOrUpdateConsumer wants a name in the configuration: of two attempts, both
// may make one.
func (s *stream) CreateOrUpdateConsumer(ctx context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return ask(ctx, s, func(ctx context.Context, s jetstream.Stream) (jetstream.Consumer, error) {
		return s.CreateOrUpdateConsumer(ctx, c)
	})
}

func (s *stream) DeleteConsumer(ctx context.Context, name string) error {
	return s.does(ctx, func(ctx context.Context, s jetstream.Stream) error { return s.DeleteConsumer(ctx, name) })
}

func (s *stream) DeleteMsg(ctx context.Context, sequence uint64) error {
	return s.does(ctx, func(ctx context.Context, s jetstream.Stream) error { return s.DeleteMsg(ctx, sequence) })
}

func (s *stream) Purge(ctx context.Context, options ...jetstream.StreamPurgeOpt) error {
	return s.does(ctx, func(ctx context.Context, s jetstream.Stream) error { return s.Purge(ctx, options...) })
}
