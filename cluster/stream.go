package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream is one of the queue's. A request that is lost costs an attempt. If the
// stream does not answer Join, the first request that it answers opens it.
type stream struct {
	jetstream.Stream // the other methods, which nobody calls
	js               jetstream.JetStream
	config           jetstream.StreamConfig
	update           bool
	opened           atomic.Pointer[jetstream.Stream]
}

// open makes or compares the stream.
func (s *stream) open(ctx context.Context) error {
	opened, err := s.js.Stream(ctx, s.config.Name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		create := s.config
		create.Replicas = cmp.Or(create.Replicas, 1)
		opened, err = s.js.CreateStream(ctx, create)
	case err == nil:
		err = s.compare(ctx, opened.CachedInfo().Config)
	}
	if err == nil {
		s.opened.Store(&opened)
	}
	return err
}

func (s *stream) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the stream %s: %w", s.config.Name, unanswered(s.js.Conn(), err))
}

// isSilent reports whether a stream may answer later, or be made by another node.
func isSilent(err error) bool {
	return passes(err) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse)
}

// ask has a request answered by a stream, which it opens first.
func ask[A, B any](ctx context.Context, s *stream, request func(jetstream.Stream, context.Context, B) (A, error), with B) (answer A, err error) {
	err = patiently(ctx, passes, func(ctx context.Context) (err error) {
		if s.opened.Load() == nil {
			err = s.open(ctx)
		}
		if err == nil {
			answer, err = request(*s.opened.Load(), ctx, with)
		}
		return err
	})
	return answer, s.named(err)
}

func (s *stream) Info(ctx context.Context, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return ask(ctx, s, func(s jetstream.Stream, ctx context.Context, options []jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
		return s.Info(ctx, options...)
	}, options)
}

func (s *stream) GetMsg(ctx context.Context, sequence uint64, options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return ask(ctx, s, func(s jetstream.Stream, ctx context.Context, sequence uint64) (*jetstream.RawStreamMsg, error) {
		return s.GetMsg(ctx, sequence, options...)
	}, sequence)
}

func (s *stream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return ask(ctx, s, jetstream.Stream.GetLastMsgForSubject, subject)
}

func (s *stream) Consumer(ctx context.Context, name string) (jetstream.Consumer, error) {
	return ask(ctx, s, jetstream.Stream.Consumer, name)
}

// CreateOrUpdateConsumer wants a name, because without one, two attempts may make
// two consumers.
func (s *stream) CreateOrUpdateConsumer(ctx context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return ask(ctx, s, jetstream.Stream.CreateOrUpdateConsumer, c)
}

func does[B any](ctx context.Context, s *stream, request func(jetstream.Stream, context.Context, B) error, with B) error {
	_, err := ask(ctx, s, func(s jetstream.Stream, ctx context.Context, with B) (none struct{}, err error) {
		return none, request(s, ctx, with)
	}, with)
	return err
}

func (s *stream) DeleteConsumer(ctx context.Context, name string) error {
	return does(ctx, s, jetstream.Stream.DeleteConsumer, name)
}

func (s *stream) DeleteMsg(ctx context.Context, sequence uint64) error {
	return does(ctx, s, jetstream.Stream.DeleteMsg, sequence)
}

func (s *stream) Purge(ctx context.Context, options ...jetstream.StreamPurgeOpt) error {
	return does(ctx, s, func(s jetstream.Stream, ctx context.Context, o []jetstream.StreamPurgeOpt) error {
		return s.Purge(ctx, o...)
	}, options)
}
