package harness

import (
	"context"
	"errors"
	"testing"

	"github.com/shardq/shardq/worker"
	"github.com/stretchr/testify/require"
)

// Faults of running workers: in the calls of a handler, and in the use of its
// result.
const (
	takesFailureForSuccess fault = iota + 2000
	reportsNoFailure
	reportsFailureTwice
	discardsInSecret
	discardsTooSoon
	runReturnsEarly
	runFails
	handlesTwice
	handlesOthersToo
)

// NewPool makes a pool with the fault.
func (q *sabotaged) NewPool(
	o worker.Options[int], claimed func(item int, called int64),
) (runner, error) {
	handle, onError, onDiscard := o.Handle, o.OnError, o.OnDiscard
	if handle == nil { // batches have the same effect
		all := o.HandleBatch
		handle = func(ctx context.Context, item int) error { return all(ctx, []int{item})[0] }
		o.HandleBatch, o.BatchSize = nil, 0
	}
	o.Handle = handle
	switch q.fault {
	case takesFailureForSuccess:
		o.Handle = func(ctx context.Context, item int) error {
			if err := handle(ctx, item); err == nil || !q.every(20) {
				return err
			}
			return nil
		}
	case reportsNoFailure:
		o.OnError = func(ctx context.Context, f worker.Failure[int]) {
			if !q.every(5) {
				onError(ctx, f)
			}
		}
	case reportsFailureTwice:
		o.OnError = func(ctx context.Context, f worker.Failure[int]) { onError(ctx, f); onError(ctx, f) }
	case discardsInSecret:
		o.OnDiscard = func(ctx context.Context, f worker.Failure[int]) {
			if !q.every(2) {
				onDiscard(ctx, f)
			}
		}
	case discardsTooSoon:
		o.MaxAttempts = 1
	case handlesTwice:
		o.Handle = func(ctx context.Context, item int) error {
			if q.every(100) {
				_ = handle(ctx, item)
			}
			return handle(ctx, item)
		}
	case handlesOthersToo:
		o.Handle = func(ctx context.Context, item int) error {
			if q.every(100) {
				item ^= 4
			}
			return handle(ctx, item)
		}
	}
	claim := q.ClaimBatch
	if q.fault == claimsAhead {
		claim = q.claimAhead
	}
	w, err := worker.New(&stampedSource[int]{q.Queue, claim, claimed}, o)
	return &sabotagedPool{w, q}, err
}

type sabotagedPool struct {
	*worker.Pool[int]
	queue *sabotaged
}

func (w *sabotagedPool) Run(ctx context.Context) error {
	switch w.queue.fault {
	case runReturnsEarly:
		ended := make(chan error, 1)
		go func() { ended <- w.Pool.Run(ctx) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	case runFails:
		return errors.Join(w.Pool.Run(ctx), ctx.Err())
	}
	return w.Pool.Run(ctx)
}

func TestEveryFaultOfWorkersIsFound(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   fault
		mix     Ingredients
		clauses []string // any of these
	}{
		{"a failure is taken for a success", takesFailureForSuccess, Workers, []string{"C50"}},
		{"OnError is not called", reportsNoFailure, Workers, []string{"C50"}},
		{"OnError is called twice", reportsFailureTwice, Workers | Deaths, []string{"C50"}},
		{"OnDiscard is not called", discardsInSecret, Workers, []string{"C50"}},
		{"items are discarded too early", discardsTooSoon, Workers, []string{"C50"}},
		{"Run returns early", runReturnsEarly, Workers, []string{"C49"}},
		{"Run returns an error", runFails, Workers, []string{"C49"}},
		{"an item is handled twice", handlesTwice, Workers, []string{"C3", "C15"}},
		{"another item is handled", handlesOthersToo, Workers, []string{"C1", "C2", "C19", "C50"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.fault == runReturnsEarly && raceDetector {
				t.Skip("its workers go on while the round is summed up: the fault is a data race by itself")
			}
			requireClauses(t, test.fault, test.mix, Drain, test.clauses)
		})
	}
}

// TestWorkersTakePartInSomeRounds checks that a third of the rounds have
// workers.
func TestWorkersTakePartInSomeRounds(t *testing.T) {
	rounds := 0
	for seed := range uint64(300) {
		p := Draw(seed, anything, Shardq().Features)
		if p.Mix.Has(Workers) {
			rounds++
			require.Zero(t, p.Mix&unfitForWorkers)
			require.NotEqual(t, Small, p.Ending)
		}
		features := Shardq().Features
		features.Workers = false
		require.False(t, Draw(seed, anything, features).Mix.Has(Workers))
	}
	require.Greater(t, rounds, 30)
}
