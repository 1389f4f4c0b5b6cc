package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/worker"
)

// A batch of more claims than the queue handles together is claimed, and ends,
// as one.

const manyClaims = 200

// A faultyClock panics at one of its readings.
type faultyClock struct {
	clock.Clock
	readings, panicAt int
}

func (c *faultyClock) Now() time.Time {
	if c.readings++; c.readings == c.panicAt {
		panic(fault)
	}
	return c.Clock.Now()
}

func manyItems() []int {
	items := make([]int, manyClaims)
	for i := range items {
		items[i] = i
	}
	return items
}

// TestC60LongBatchEndsBesidePanics checks that all claims end if a hook or the
// clock panics.
func TestC60LongBatchEndsBesidePanics(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		t.Run("OnWatermark", func(t *testing.T) {
			armed := false
			q := shardq.MustNew(shardq.Options[int]{Shards: shards, Watermarks: shardq.Watermarks{High: 180, Low: 150, On: func(shardq.Watermark) {
				if armed {
					panic(fault)
				}
			}}})
			q.AddBatch(manyItems(), shardq.AddOptions{})
			claims := make([]worker.Claim[int], manyClaims)
			n, err := q.ClaimBatch(t.Context(), claims)
			require.NoError(t, err)
			require.Equal(t, manyClaims, n)
			armed = true
			require.PanicsWithValue(t, fault, func() { _ = q.DoneClaims(claims) })
			require.Zero(t, q.Stats().Held)
		})
		t.Run("clock", func(t *testing.T) {
			for at := 1; at <= 4; at++ {
				c := &faultyClock{Clock: newFake()}
				q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: c, Metrics: true, Tick: time.Microsecond})
				q.AddBatch(manyItems(), shardq.AddOptions{})
				claims := make([]worker.Claim[int], manyClaims)
				n, err := q.ClaimBatch(t.Context(), claims)
				require.NoError(t, err)
				require.Equal(t, manyClaims, n)
				c.panicAt = c.readings + at
				func() {
					defer func() { _ = recover() }()
					_ = q.DoneClaims(claims)
				}()
				c.panicAt = 0
				require.Zero(t, q.Stats().Held, "reading %d", at)
			}
		})
	})
}

// TestC60LongBatchIsClaimedOrReady checks that, if the clock panics, each item
// in processing has a claim.
func TestC60LongBatchIsClaimedOrReady(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for at := 1; at <= 6; at++ {
			c := &faultyClock{Clock: newFake()}
			q := shardq.MustNew(shardq.Options[int]{Shards: shards, Clock: c, Metrics: true, Tick: time.Microsecond})
			q.AddBatch(manyItems(), shardq.AddOptions{})
			c.panicAt = c.readings + at
			claims, n := make([]worker.Claim[int], manyClaims), 0
			func() {
				defer func() { _ = recover() }()
				n, _ = q.ClaimBatch(t.Context(), claims)
			}()
			c.panicAt = 0
			require.Equal(t, n, q.Stats().Processing, "reading %d", at)
			require.NoError(t, q.DoneClaims(claims[:n]))
		}
	})
}

// TestC60LargeItems checks that a batch of large items is claimed without a
// buffer for them.
func TestC60LargeItems(t *testing.T) {
	type large [4096]byte
	q := shardq.MustNew(shardq.Options[large]{Shards: 1})
	var items [3]large
	for i := range items {
		items[i][0] = byte(i)
	}
	claims := make([]worker.Claim[large], 2)
	cycle := func() {
		q.AddBatch(items[:], shardq.AddOptions{})
		for left := 3; left > 0; {
			n, err := q.ClaimBatch(t.Context(), claims)
			if err != nil || n != min(2, left) || claims[0].Item[0] != byte(3-left) || !claims[n-1].Valid() {
				t.Fatalf("%d claims, %v, with %d left", n, err, left)
			}
			if err := q.DoneClaims(claims[:n]); err != nil {
				t.Fatal(err)
			}
			left -= n
		}
	}
	cycle()
	if allocations := testing.AllocsPerRun(50, cycle); allocations > 0 && !raceDetector {
		t.Errorf("%v allocations", allocations)
	}
}

// TestC60ForgedTokens checks that a token that the queue has not made names
// nothing.
func TestC60ForgedTokens(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 2})
	q.Add(1)
	claim := claimOne(t, q)
	token := claim.Token()
	for _, id := range []uint64{40<<32 | 1, 1<<48 | token.ID, 1<<63 | token.ID, token.ID ^ 1} {
		forged := worker.NewClaim(1, 0, claim.Owner(), worker.Token{ID: id, Fence: token.Fence})
		require.ErrorIs(t, forged.Done(), worker.ErrClaimEnded, "%x", id)
		require.False(t, forged.Valid())
	}
	require.PanicsWithValue(t, "worker: Return.Reason is 77: want ReturnRetry, ReturnRequeue or ReturnRelease",
		func() { _ = claim.Return(worker.Return{Reason: 77}) })
	require.True(t, claim.Valid())
	require.NoError(t, claim.Done())
}

// TestC27SlowClock checks that a delay is kept if setting the timer takes
// longer than a tick.
func TestC27SlowClock(t *testing.T) {
	fake := newFake()
	q := shardq.MustNew(shardq.Options[string]{Clock: slowTimerClock{fake}})
	q.AddAfter("a", time.Hour)
	fake.Step(2 * time.Hour)
	require.Equal(t, 1, q.Len())
	q.ShutDown()
}

// A slowTimerClock takes 3 ms to set a timer.
type slowTimerClock struct{ *clock.Fake }

func (c slowTimerClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	timer := c.Fake.AfterFunc(d, f)
	c.Fake.Step(3 * time.Millisecond)
	return slowSetTimer{timer, c.Fake}
}

type slowSetTimer struct {
	clock.Timer
	fake *clock.Fake
}

func (t slowSetTimer) Reset(d time.Duration) bool {
	defer t.fake.Step(3 * time.Millisecond)
	return t.Timer.Reset(d)
}
