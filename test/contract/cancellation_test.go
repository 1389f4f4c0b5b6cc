package contract

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// races returns how often the context ends during each call that takes one,
// with each number of shards. At full scale, it is more than a million times
// for each call.
func races() int { return scaled(350_000, 10_000) }

// raceWithCancel makes a call with a context. At the same time it calls arrive
// and ends the context. It returns the call's error.
func raceWithCancel(t *testing.T, call func(ctx context.Context) error, arrive func()) (err error) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { err = call(ctx) })
	all.Go(arrive)
	all.Go(cancel)
	all.Wait()
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return err
}

// An item that becomes ready as the context ends is returned or stays ready.
func TestC35CancellationLosesNoItem(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		for round := range races() {
			var item int
			err := raceWithCancel(t, func(ctx context.Context) (err error) {
				item, err = q.GetContext(ctx)
				return err
			}, func() { q.Add(round) })
			if err != nil {
				if q.Len() != 1 {
					t.Fatalf("round %d: canceled, and %d items are ready", round, q.Len())
				}
				item, _ = q.Get()
			}
			if item != round {
				t.Fatalf("round %d: got %d", round, item)
			}
			q.Done(item)
		}
		requireCounts(t, q, 0, 0, 0)
	})
}

// A batch that becomes ready as the context ends is returned in part or in
// full. The rest stays ready.
func TestC37CancellationLosesNoItem(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		got := make([]int, 2)
		for round := range races() {
			n := 0
			err := raceWithCancel(t, func(ctx context.Context) (err error) {
				n, err = getBatch(q, ctx, got)
				return err
			}, func() { q.AddBatch([]int{2 * round, 2*round + 1}, shardq.AddOptions{}) })
			if (err == nil) != (n > 0) || n+q.Len() != 2 {
				t.Fatalf("round %d: got %d, %v, and %d items are ready", round, n, err, q.Len())
			}
			for ; n < 2; n++ {
				got[n], _ = q.Get()
			}
			if min(got[0], got[1]) != 2*round || max(got[0], got[1]) != 2*round+1 {
				t.Fatalf("round %d: got %v", round, got)
			}
			doneBatch(q, got)
		}
		requireCounts(t, q, 0, 0, 0)
	})
}

// Capacity that becomes free as the context ends is taken or stays free.
func TestC40CancellationLosesNoCapacity(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newBounded[int](shards, 1)
		inside := -1
		q.Add(inside)
		for round := range races() {
			item, _ := q.Get()
			if item != inside {
				t.Fatalf("round %d: got %d, not %d", round, item, inside)
			}
			err := raceWithCancel(t,
				func(ctx context.Context) error { return q.AddContext(ctx, round, shardq.AddOptions{}) },
				func() { q.Done(item) })
			if err != nil {
				if err := q.TryAdd(round, shardq.AddOptions{}); err != nil {
					t.Fatalf("round %d: canceled, and then: %v", round, err)
				}
			}
			inside = round
			if err := q.TryAdd(-2, shardq.AddOptions{}); !errors.Is(err, shardq.ErrFull) {
				t.Fatalf("round %d: another one fits: %v", round, err)
			}
		}
		require.Equal(t, 1, q.Stats().Held)
	})
}
