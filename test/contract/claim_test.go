package contract

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// endings are the ways to end a claim.
var endings = map[string]func(worker.Claim[int]) error{
	"Done":         worker.Claim[int].Done,
	"Retry":        worker.Claim[int].Retry,
	"RequeueAfter": func(c worker.Claim[int]) error { return c.RequeueAfter(time.Hour) },
	"Release":      worker.Claim[int].Release,
}

func claimOne(t *testing.T, q *shardq.Queue[int]) worker.Claim[int] {
	t.Helper()
	claim, ok := q.TryClaim()
	require.True(t, ok)
	require.True(t, claim.Valid())
	return claim
}

// requireEnded requires that no way of ending the claim changes anything.
func requireEnded(t *testing.T, q *shardq.Queue[int], claim worker.Claim[int]) {
	t.Helper()
	before, failures := q.Stats(), q.NumRequeues(claim.Item)
	require.False(t, claim.Valid())
	for name, end := range endings {
		require.ErrorIs(t, end(claim), worker.ErrClaimEnded, name)
	}
	require.ErrorIs(t, q.DoneClaims([]worker.Claim[int]{claim, claim}), worker.ErrClaimEnded)
	require.Equal(t, before, q.Stats())
	require.Equal(t, failures, q.NumRequeues(claim.Item))
}

// TestC60EndsOnce checks that a claim ends once, in each way, by itself or by a
// copy. Later ends change nothing, also while another consumer has the item and
// the item has failures.
func TestC60EndsOnce(t *testing.T) {
	for first, end := range endings {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := shardq.MustNew(shardq.Options[int]{Shards: 2})
				q.Add(1)
				q.Add(2)
				claim := claimOne(t, q)
				copied := claim
				require.NoError(t, end(claim))
				requireEnded(t, q, claim)
				requireEnded(t, q, copied)
				q.Add(claim.Item)
				q.AddRateLimited(claim.Item) // a failure that a stale Done would forget
				for range 2 {
					other := claimOne(t, q)
					requireEnded(t, q, claim)
					require.True(t, other.Valid())
					require.NoError(t, other.Done())
				}
				time.Sleep(2 * time.Hour)
				q.ShutDown()
			})
		})
	}
}

// TestC60QueueDoneEndsAClaim checks that Done of the item ends its claim, and
// that a Done after the end of the claim is a misuse.
func TestC60QueueDoneEndsAClaim(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{})
	q.Add(1)
	claim := claimOne(t, q)
	q.Done(1)
	requireEnded(t, q, claim)
	q.Add(1)
	require.NoError(t, claimOne(t, q).Done())
	q.Done(1)
	require.EqualValues(t, 1, q.Stats().Misused)
	require.Zero(t, q.Stats().Held)
}

// TestC60ClaimOfAGet checks that ClaimOf returns the claim to the processing
// that a Get began, and none of an item that is not in processing.
func TestC60ClaimOfAGet(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 2})
	requireNone := func() {
		t.Helper()
		_, ok := engine.ClaimOf(q, 1)
		require.False(t, ok)
	}
	requireNone()
	q.Add(1)
	requireNone()
	_, _ = q.Get()
	claim, ok := engine.ClaimOf(q, 1)
	require.True(t, ok)
	require.True(t, claim.Valid())
	q.Add(1)
	require.True(t, claim.AddedAgain())
	q.Done(1)
	requireNone()
	requireEnded(t, q, claim)
	later := claimOne(t, q)
	found, ok := engine.ClaimOf(q, 1)
	require.True(t, ok)
	require.Equal(t, later, found)
	require.Greater(t, found.Fence(), claim.Fence())
	require.NoError(t, found.Done())
	requireEnded(t, q, later)
	requireNone()
}

// TestC60ClaimOfASealedClaim checks that ClaimOf gives no right to a processing
// that another call is about to end.
func TestC60ClaimOfASealedClaim(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{})
	q.Add(1)
	claim := claimOne(t, q)
	q.ShutDown()
	refused := func() {
		if late, ok := engine.ClaimOf(q, 1); ok {
			require.ErrorIs(t, late.Done(), worker.ErrClaimEnded)
		}
		require.EqualValues(t, 1, q.Stats().Held)
	}
	require.ErrorIs(t, claim.Return(worker.Return{Refused: refused}), shardq.ErrShutDown)
	require.Zero(t, q.Stats().Held)
}

// TestC60EffectOfEachEnd checks what each way of ending does with the
// item, its priority and its failures.
func TestC60EffectOfEachEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[int]{Shards: 1, RateLimiter: limiter.NewExponential[int](time.Second, time.Minute)})
		q.AddWith(1, shardq.AddOptions{Priority: 7})
		again := func(after time.Duration) worker.Claim[int] {
			t.Helper()
			if after > 0 {
				time.Sleep(after - 1)
				synctest.Wait()
				require.Zero(t, q.Len())
				time.Sleep(time.Nanosecond)
				synctest.Wait()
			}
			claim := claimOne(t, q)
			require.Equal(t, 7, claim.Priority)
			return claim
		}
		require.NoError(t, again(0).Retry())
		require.Equal(t, 1, q.NumRequeues(1))
		require.NoError(t, again(time.Second).Retry())
		require.Equal(t, 2, q.NumRequeues(1))
		require.NoError(t, again(2*time.Second).Release())
		require.Equal(t, 2, q.NumRequeues(1), "Release counts no failure, and keeps the history")
		require.NoError(t, again(0).RequeueAfter(5*time.Second))
		require.Zero(t, q.NumRequeues(1), "it has not failed")
		require.NoError(t, again(5*time.Second).RequeueAfter(0))
		require.NoError(t, again(0).RequeueAfter(-1))
		require.NoError(t, again(0).Retry())
		require.NoError(t, again(time.Second).Done())
		require.Zero(t, q.NumRequeues(1))
		require.Zero(t, q.Stats().Held)
		require.Zero(t, q.Stats().Limited)
	})
}

// TestC60DirtyItemRunsAgain checks that an add during the claim is served after
// it, however the claim ends.
func TestC60DirtyItemRunsAgain(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[int]{})
			q.Add(1)
			claim := claimOne(t, q)
			q.Add(1)
			require.NoError(t, end(claim))
			require.Equal(t, 1, q.Len())
			claimOne(t, q)
		})
	}
}

// TestC60AfterShutDown checks that Retry and RequeueAfter drop the item and
// return an error, unless a drain accepts retries. Release and Done work as
// before.
func TestC60AfterShutDown(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1})
	q.AddBatch([]int{0, 1, 2, 3}, shardq.AddOptions{})
	claims := make([]worker.Claim[int], 4)
	n, err := q.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	q.ShutDown()
	require.ErrorIs(t, claims[0].Retry(), shardq.ErrShutDown)
	require.Zero(t, q.NumRequeues(0), "no failure is counted for a retry that never runs")
	require.ErrorIs(t, claims[1].RequeueAfter(time.Second), shardq.ErrShutDown)
	require.EqualValues(t, 2, q.Stats().Dropped)
	require.NoError(t, claims[2].Release())
	require.NoError(t, claims[3].Done())
	for _, claim := range claims {
		require.False(t, claim.Valid())
	}
	require.NoError(t, claimOne(t, q).Done())
	_, err = q.Claim(t.Context())
	require.ErrorIs(t, err, shardq.ErrShutDown)
	_, err = q.ClaimBatch(t.Context(), claims)
	require.ErrorIs(t, err, shardq.ErrShutDown)
	_, ok := q.TryClaim()
	require.False(t, ok)

	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[int]{})
		q.Add(1)
		claim := claimOne(t, q)
		drained := returned(func() {
			_, err := q.Drain(context.Background(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed, Retries: shardq.AcceptRetries})
			require.NoError(t, err)
		})
		synctest.Wait()
		require.NoError(t, claim.Retry())
		again, err := q.Claim(t.Context())
		require.NoError(t, err)
		require.NoError(t, again.Done())
		requireBecomesTrue(t, drained)
	})
}

// TestC60Blocks checks that Claim and ClaimBatch wait for an item, until their
// context ends.
func TestC60Blocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[int]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := q.Claim(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = q.ClaimBatch(ctx, make([]worker.Claim[int], 3))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		n, err := q.ClaimBatch(t.Context(), nil)
		require.NoError(t, err)
		require.Zero(t, n)
		got := make(chan worker.Claim[int])
		go func() {
			claim, err := q.Claim(t.Context())
			require.NoError(t, err)
			got <- claim
		}()
		synctest.Wait()
		q.Add(5)
		claim := <-got
		require.Equal(t, 5, claim.Item)
		require.NoError(t, claim.Done())
	})
}

// TestC60Batches checks that a batch has as many claims as fit, in the order of
// as many Claims. DoneClaims ends all of them that have not ended and are of
// this queue.
func TestC60Batches(t *testing.T) {
	for _, items := range []int{1, 63, 64, 65, 200} {
		q := shardq.MustNew(shardq.Options[int]{Shards: 1, RateLimiter: limiter.NewExponential[int](time.Second, time.Minute)})
		q.AddBatch(numbers(items), shardq.AddOptions{})
		claims := make([]worker.Claim[int], 201)
		n, err := q.ClaimBatch(t.Context(), claims)
		require.NoError(t, err)
		require.Equal(t, items, n)
		for i, claim := range claims[:n] {
			require.Equal(t, i, claim.Item)
		}
		q.AddRateLimited(items - 1)
		if items == 65 {
			require.NoError(t, claims[0].Done())
			require.ErrorIs(t, q.DoneClaims(claims[:n]), worker.ErrClaimEnded)
		} else {
			require.NoError(t, q.DoneClaims(claims[:n]))
		}
		require.Zero(t, q.Stats().Processing)
		require.Zero(t, q.Stats().Limited)
		q.Cancel(items - 1)

		other := shardq.MustNew(shardq.Options[int]{})
		q.Add(1)
		foreign := claimOne(t, q)
		require.ErrorIs(t, other.DoneClaims([]worker.Claim[int]{foreign}), worker.ErrClaimEnded)
		require.True(t, foreign.Valid())
		require.NoError(t, foreign.Done())
	}
}

// TestC60FencesGrow checks that fences grow from hand-out to hand-out of an
// item, and that they exceed those of an older queue.
func TestC60FencesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := uint64(0)
		for range 2 {
			q := shardq.MustNew(shardq.Options[int]{})
			q.Add(1)
			for i := range 20 {
				claim := claimOne(t, q)
				require.Greater(t, claim.Fence(), last)
				last = claim.Fence()
				switch i % 4 {
				case 0:
					require.NoError(t, claim.Release())
				case 1:
					require.NoError(t, claim.RequeueAfter(0))
				case 2:
					require.NoError(t, claim.Done())
					q.Add(1)
				case 3:
					q.Add(1)
					require.NoError(t, claim.Done())
				}
				require.Equal(t, last, claim.Fence(), "also when it has ended")
			}
			time.Sleep(time.Millisecond) // the next queue is made later
		}
	})
}

// TestC60ZeroClaim checks that the zero claim has ended.
func TestC60ZeroClaim(t *testing.T) {
	requireEnded(t, shardq.MustNew(shardq.Options[int]{}), worker.Claim[int]{})
	require.Zero(t, worker.Claim[int]{}.Fence())
}

// TestC60LimiterPanics checks that the claim has ended, and that the item is
// done or ready again.
func TestC60LimiterPanics(t *testing.T) {
	for name, end := range endings {
		for _, function := range []string{"When", "Forget", "NumRequeues"} {
			t.Run(fmt.Sprint(name, function), func(t *testing.T) {
				b := &workerFault{function: function, call: 1}
				q := shardq.MustNew(shardq.Options[int]{RateLimiter: faultLimiter[int]{limiter.NewExponential[int](0, 0), b}})
				q.Add(1)
				claim := claimOne(t, q)
				b.arm(true)
				fault := recovered(func() { _ = end(claim) })
				require.False(t, claim.Valid())
				require.Zero(t, q.Stats().Processing)
				if name == "Done" {
					require.Zero(t, q.Stats().Held)
				} else {
					require.EqualValues(t, 1, q.Stats().Held)
				}
				require.Equal(t, b.occurred(), fault != nil)
			})
		}
	}
	b := &workerFault{function: "Forget", call: 2}
	q := shardq.MustNew(shardq.Options[int]{RateLimiter: faultLimiter[int]{limiter.NewExponential[int](0, 0), b}})
	q.AddBatch(numbers(100), shardq.AddOptions{})
	claims := make([]worker.Claim[int], 100)
	_, err := q.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	b.arm(true)
	require.NotNil(t, recovered(func() { _ = q.DoneClaims(claims) }))
	require.Zero(t, q.Stats().Held)
}

// recovered returns the value with which do panics.
func recovered(do func()) (fault any) {
	defer func() { fault = recover() }()
	do()
	return nil
}

// TestC60AllocatesNothing checks that claims are values.
func TestC60AllocatesNothing(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{})
	claims := make([]worker.Claim[string], 100)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	cycle := func() {
		q.Add("a")
		claim, _ := q.TryClaim()
		_ = claim.Release()
		claim, _ = q.Claim(context.Background())
		_ = claim.RequeueAfter(0)
		claim, _ = q.Claim(context.Background())
		_ = claim.Done()
		q.AddBatch(keys, shardq.AddOptions{})
		n, _ := q.ClaimBatch(context.Background(), claims)
		_ = q.DoneClaims(claims[:n])
	}
	cycle()
	if allocations := testing.AllocsPerRun(100, cycle); allocations > 0 && !raceDetector {
		t.Errorf("%v allocations in a cycle", allocations)
	}
}
