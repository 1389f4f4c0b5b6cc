package worker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

func options(handle func(string) error) worker.Options[string] {
	return worker.Options[string]{
		Workers: 1,
		Handle:  func(_ context.Context, item string) error { return handle(item) },
	}
}

func succeed(string) error { return nil }

func TestNewWithoutASource(t *testing.T) {
	_, err := worker.New(nil, options(succeed))
	require.EqualError(t, err, "worker: New was called without a source")
	var queue *shardq.Queue[string]
	_, err = worker.New(queue, options(succeed))
	require.EqualError(t, err, "worker: New was called without a source")
	_, err = worker.New(queue, worker.Options[string]{Workers: 1})
	require.EqualError(t, err, "worker: Options.Handle and HandleBatch are both nil: want one of them\n"+
		"worker: New was called without a source")
}

// A named is a source because of the queue that it embeds.
type named struct {
	*shardq.Queue[string]
	region string
}

// A struct without its queue would panic in each worker.
func TestNewOfAStructWithoutItsQueue(t *testing.T) {
	for _, source := range []worker.Source[string]{named{region: "west"}, &named{region: "west"}} {
		_, err := worker.New(source, options(succeed))
		require.ErrorContains(t, err, "worker: New was called with a source whose Name panics: ")
	}
}

// A relay claims from another source or, if that is nil, from a queue.
type relay struct {
	from  *relay
	queue *shardq.Queue[string]
}

func (r relay) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	if r.from != nil {
		return r.from.ClaimBatch(ctx, dst)
	}
	return r.queue.ClaimBatch(ctx, dst)
}

// A nil pointer in a struct is no fault of the source.
func TestNewOfAStructWithANilField(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("a")
	q.ShutDown()
	handled := 0
	pool, err := worker.New(relay{queue: q}, options(func(string) error { handled++; return nil }))
	require.NoError(t, err)
	require.NoError(t, pool.Run(context.Background()))
	require.Equal(t, 1, handled)

	_, err = worker.New(&relay{from: &relay{queue: q}}, options(succeed))
	require.NoError(t, err)
}

// A bomb is a source that panics when its queue is empty.
type bomb struct{ queue *shardq.Queue[string] }

var errOnPurpose = errors.New("on purpose")

func (b bomb) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	if b.queue.Len() == 0 {
		panic(errOnPurpose)
	}
	return b.queue.ClaimBatch(ctx, dst)
}

func TestRunOfASourceThatPanics(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{})
	q.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
	handled := 0
	pool, err := worker.New(bomb{q}, options(func(string) error { handled++; return nil }))
	require.NoError(t, err)
	panicked := func() (value any) {
		defer func() { value = recover() }()
		_ = pool.Run(context.Background())
		return nil
	}()
	fault, is := panicked.(*worker.PanicError)
	require.True(t, is, "%v", panicked)
	require.ErrorIs(t, fault, errOnPurpose)
	require.Contains(t, string(fault.Stack), "bomb.ClaimBatch")
	require.Equal(t, 2, handled)
	require.Zero(t, q.Stats().Processing, "the claims before have ended")
	require.Zero(t, pool.Len())
	require.ErrorContains(t, pool.Run(context.Background()), "cannot be called again")
}
