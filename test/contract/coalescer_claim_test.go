package contract

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// claimValue claims the value of a key that is ready.
func claimValue(t *testing.T, c *textCoalescer, key, value string) worker.Claim[text] {
	t.Helper()
	require.NotZero(t, c.Queue().Len(), "nothing is ready")
	claim, err := c.Claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, text{Key: key, Value: value}, claim.Item)
	require.True(t, claim.Valid())
	return claim
}

// valueEndings are the ways to end a claim of a coalescer.
var valueEndings = map[string]func(worker.Claim[text]) error{
	"Done":         worker.Claim[text].Done,
	"Retry":        worker.Claim[text].Retry,
	"RequeueAfter": func(c worker.Claim[text]) error { return c.RequeueAfter(time.Second) },
	"Release":      worker.Claim[text].Release,
}

// A claim of a coalescer ends once: its value is returned once, and a late end
// changes nothing while another consumer has the key.
func TestC60ClaimsOfACoalescer(t *testing.T) {
	for first, end := range valueEndings {
		for second, late := range valueEndings {
			t.Run(first+second, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newTexts()
					require.NoError(t, c.Put("a", "1"))
					claim := claimValue(t, c, "a", "1")
					require.NoError(t, c.Put("a", "2"))
					require.NoError(t, end(claim))
					require.False(t, claim.Valid())
					require.ErrorIs(t, late(claim), worker.ErrClaimEnded)
					time.Sleep(time.Minute)
					value := "12"
					if first == "Done" {
						value = "2"
					}
					failures := c.Queue().NumRequeues("a")
					next := claimValue(t, c, "a", value)
					require.Equal(t, failures, next.Failures())
					require.Equal(t, first == "Retry", failures == 1)
					require.Greater(t, next.Fence(), claim.Fence())
					require.ErrorIs(t, late(claim), worker.ErrClaimEnded)
					require.True(t, next.Valid())
					require.Equal(t, failures, c.Queue().NumRequeues("a"))
					require.ErrorIs(t, c.DoneClaims([]worker.Claim[text]{claim, next}), worker.ErrClaimEnded)
					require.Zero(t, c.Queue().NumRequeues("a"))
					requireNothing(t, c)
					require.Zero(t, c.Stats().Held)
				})
			})
		}
	}
}

// Each way has the same delay as for a queue. C55 says what a Put does
// meanwhile.
func TestC55ClaimsThatReturnTheirValues(t *testing.T) {
	for name, delay := range map[string]time.Duration{"Retry": time.Second, "RequeueAfter": time.Second, "Release": 0} {
		synctest.Test(t, func(t *testing.T) {
			c := newTexts()
			require.NoError(t, c.Put("a", "1"))
			require.NoError(t, valueEndings[name](claimValue(t, c, "a", "1")))
			require.NoError(t, c.Put("a", "2"))
			if delay > 0 {
				time.Sleep(delay - time.Millisecond)
				require.Zero(t, c.Queue().Len())
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
			}
			require.NoError(t, claimValue(t, c, "a", "12").Done())
			requireNothing(t, c)
		})
	}
}

// After a shutdown Retry and RequeueAfter end the claim, and the caller keeps
// the value. Release returns it, and a drain waits for it.
func TestC57ClaimsAfterShutDown(t *testing.T) {
	for name, end := range valueEndings {
		for _, drains := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := newTexts()
				require.NoError(t, c.Put("a", "1"))
				claim := claimValue(t, c, "a", "1")
				ended := func() bool { return true }
				if drains {
					ended = returned(func() {
						dropped, err := c.Drain(context.Background(), shardq.DrainOptions{})
						require.NoError(t, err)
						require.Empty(t, dropped)
					})
					requireStillFalse(t, ended, "a is in processing")
				} else {
					c.ShutDown()
				}
				err := end(claim)
				require.False(t, claim.Valid())
				require.Zero(t, c.Queue().NumRequeues("a"))
				switch name {
				case "Done":
					require.NoError(t, err)
				case "Release":
					require.NoError(t, err)
					if drains {
						requireStillFalse(t, ended, "a is ready")
					}
					require.NoError(t, claimValue(t, c, "a", "1").Done())
				default:
					require.ErrorIs(t, err, shardq.ErrShutDown)
				}
				requireBecomesTrue(t, ended)
				requireNothing(t, c)
				require.Zero(t, c.Stats().Held)
				_, err = c.Claim(t.Context())
				require.ErrorIs(t, err, shardq.ErrShutDown)
				_, err = c.ClaimBatch(t.Context(), make([]worker.Claim[text], 1))
				require.ErrorIs(t, err, shardq.ErrShutDown)
			})
		}
	}
}

// ClaimBatch has the same values as TakeBatch, and DoneClaims ends them
// together. It leaves claims of another coalescer alone.
func TestC60BatchesOfACoalescer(t *testing.T) {
	c, other := newTexts(), newTexts()
	require.NoError(t, other.Put("a", "other"))
	foreign := claimValue(t, other, "a", "other")
	for _, size := range []int{1, 2, 100, 200} {
		for i := range 150 {
			require.NoError(t, c.Put(fmt.Sprint(i), "1"))
			require.NoError(t, c.Put(fmt.Sprint(i), "2"))
		}
		claims := make([]worker.Claim[text], size)
		n, err := c.ClaimBatch(t.Context(), claims)
		require.NoError(t, err)
		require.Equal(t, min(size, 150), n)
		for i := range n {
			require.Equal(t, text{Key: fmt.Sprint(i), Value: "12"}, claims[i].Item)
		}
		require.ErrorIs(t, c.DoneClaims(append([]worker.Claim[text]{foreign, {}}, claims[:n]...)), worker.ErrClaimEnded)
		require.Zero(t, c.Stats().Processing)
		require.True(t, foreign.Valid())
		for range 150 - n {
			claim, err := c.Claim(t.Context())
			require.NoError(t, err)
			require.NoError(t, c.DoneClaims([]worker.Claim[text]{claim}))
		}
		requireNothing(t, c)
	}
	n, err := c.ClaimBatch(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

// Refused is called before the claim ends, and only if the item cannot run
// again. Then the limiter forgets the item, and nothing counts as dropped.
func TestC60Refused(t *testing.T) {
	for _, how := range []worker.Return{{}, {Reason: worker.ReturnRequeue, After: time.Second}, {Reason: worker.ReturnRelease}} {
		for _, down := range []bool{false, true} {
			for _, panics := range []bool{false, true} {
				q := shardq.MustNew(shardq.Options[string]{RateLimiter: limiter.NewExponential[string](time.Second, time.Hour)})
				c := newTexts()
				require.NoError(t, c.Put("a", "1"))
				value := claimValue(t, c, "a", "1")
				q.AddRateLimited("a")
				q.Cancel("a")
				q.Add("a")
				item, _ := q.TryClaim()
				if down {
					q.ShutDown()
					c.ShutDown()
				}
				refused := 0
				how.Refused = func() {
					refused++
					if panics {
						panic(errOnPurpose)
					}
				}
				var errs []error
				for _, end := range []func(){
					func() { errs = append(errs, item.Return(how)) },
					func() { errs = append(errs, value.Return(how)) },
				} {
					require.Equal(t, down && panics, recovered(end) != nil)
				}
				require.False(t, item.Valid() || value.Valid())
				require.Zero(t, q.Stats().Processing+c.Stats().Processing)
				if !down {
					require.Zero(t, refused)
					require.Equal(t, []error{nil, nil}, errs)
					require.Equal(t, 1, q.Stats().Held)
					continue
				}
				require.Equal(t, 2, refused)
				for _, err := range errs {
					require.ErrorIs(t, err, shardq.ErrShutDown)
				}
				require.Zero(t, q.NumRequeues("a"))
				require.Zero(t, q.Stats().Held+c.Stats().Held)
				require.Zero(t, q.Stats().Dropped)
				requireNothing(t, c)
			}
		}
	}
}

// Refused returns before the claim ends.
func TestC60RefusedComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](1)
		q.Add("a")
		claim, _ := q.TryClaim()
		drained := returned(q.ShutDownWithDrain)
		synctest.Wait()
		require.ErrorIs(t, claim.Return(worker.Return{Refused: func() {
			require.ErrorIs(t, claim.Done(), worker.ErrClaimEnded, "the Return has it")
			requireStillFalse(t, drained, "the claim goes on")
		}}), shardq.ErrShutDown)
		requireBecomesTrue(t, drained)
	})
}

// Refresh inspects the coalescer again, and leaves the error unchanged.
func TestC42RefreshedError(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	q := newQueue[string](1)
	q.Add("a")
	_, err := q.Drain(ended, shardq.DrainOptions{})
	takeItem(t, q, "a")
	var before, after *shardq.DrainError[string]
	require.ErrorAs(t, err, &before)
	require.ErrorAs(t, before.Refresh(), &after)
	require.Equal(t, []int{1, 0, 0, 1}, []int{before.Ready, before.Processing, after.Ready, after.Processing})
	require.ErrorIs(t, after, context.Canceled)
	require.Equal(t, stats.Ready, before.Left()[0].State)
	require.Equal(t, stats.Processing, after.Left()[0].State)

	c := newTexts()
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.Put("b", "2"))
	_, err = c.Drain(ended, shardq.DrainOptions{})
	var left *coalesce.DrainError[string, string]
	require.ErrorAs(t, err, &left)
	takeValue(t, c, "a", "1")
	refreshed := left.Refresh()
	require.ErrorAs(t, refreshed, &left)
	require.Equal(t, []int{1, 1}, []int{left.Ready, left.Processing})
	require.Equal(t, []text{{Key: "b", Value: "2"}}, left.Left())
	requireNothing(t, c)
}

// If the limiter panics in DoneClaims, all claims end, and the limiter forgets
// the others.
func TestC60LimiterPanicsInABatch(t *testing.T) {
	const size = 150
	for call := 1; call <= size; call++ {
		b := &workerFault{function: "Forget", call: call}
		q := shardq.MustNew(shardq.Options[int]{RateLimiter: faultLimiter[int]{limiter.NewExponential[int](0, 0), b}})
		other := shardq.MustNew(shardq.Options[int]{})
		other.Add(1)
		foreign, _ := other.TryClaim()
		for i := range size {
			q.AddRateLimited(i)
		}
		claims := make([]worker.Claim[int], size)
		n, err := q.ClaimBatch(t.Context(), claims)
		require.NoError(t, err)
		require.Equal(t, size, n)
		b.arm(true)
		require.NotNil(t, recovered(func() { _ = q.DoneClaims(append(claims, foreign)) }))
		b.arm(false)
		require.Zero(t, q.Stats().Held)
		remembered := 0
		for i := range size {
			remembered += q.NumRequeues(i)
		}
		require.Equal(t, 1, remembered, "that of the call that panicked")
		require.True(t, foreign.Valid())
	}
}

func TestC60CoalescerClaimsAllocateNothing(t *testing.T) {
	c := newTexts()
	claims := make([]worker.Claim[text], 10)
	cycle := func() {
		_ = c.Put("a", "")
		claim, _ := c.Claim(context.Background())
		_ = claim.Release()
		claim, _ = c.Claim(context.Background())
		_ = claim.Done()
		_ = c.Put("a", "")
		_ = c.Put("b", "")
		n, _ := c.ClaimBatch(context.Background(), claims)
		_ = c.DoneClaims(claims[:n])
	}
	cycle()
	if allocations := testing.AllocsPerRun(100, cycle); allocations > 0 && !raceDetector {
		t.Errorf("%v allocations in a cycle", allocations)
	}
}
