package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// A batch of more claims than are dealt with at a time ends, and is claimed, as one.

const manyClaims = 200

// A trapClock panics at one of its readings.
type trapClock struct {
	clock.Clock
	readings, panicAt int
}

func (c *trapClock) Now() time.Time {
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

// TestC60LongBatchEndsBesidePanics: if a hook or the clock panics, all claims end.
func TestC60LongBatchEndsBesidePanics(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		t.Run("OnWatermark", func(t *testing.T) {
			armed := false
			q := shardq.Must(shardq.Options[int]{Shards: shards, HighWatermark: 180, LowWatermark: 150, OnWatermark: func(shardq.Watermark) {
				if armed {
					panic(fault)
				}
			}})
			q.AddBatch(manyItems())
			claims := make([]shardq.Claim[int], manyClaims)
			n, err := q.ClaimBatch(t.Context(), claims)
			require.NoError(t, err)
			require.Equal(t, manyClaims, n)
			armed = true
			require.PanicsWithValue(t, fault, func() { _ = q.DoneClaims(claims) })
			require.Zero(t, q.Stats().Held)
		})
		t.Run("clock", func(t *testing.T) {
			for at := 1; at <= 4; at++ {
				c := &trapClock{Clock: newFake()}
				q := shardq.Must(shardq.Options[int]{Shards: shards, Clock: c, Metrics: true, Tick: time.Microsecond})
				q.AddBatch(manyItems())
				claims := make([]shardq.Claim[int], manyClaims)
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

// TestC60LongBatchIsClaimedOrReady: if the clock panics, nothing is in processing that
// nobody has a claim to.
func TestC60LongBatchIsClaimedOrReady(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for at := 1; at <= 6; at++ {
			c := &trapClock{Clock: newFake()}
			q := shardq.Must(shardq.Options[int]{Shards: shards, Clock: c, Metrics: true, Tick: time.Microsecond})
			q.AddBatch(manyItems())
			c.panicAt = c.readings + at
			claims, n := make([]shardq.Claim[int], manyClaims), 0
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

// TestC60LargeItems: a batch of large items is claimed without a buffer for them.
func TestC60LargeItems(t *testing.T) {
	type large [4096]byte
	q := shardq.Must(shardq.Options[large]{Shards: 1})
	var items [3]large
	for i := range items {
		items[i][0] = byte(i)
	}
	claims := make([]shardq.Claim[large], 2)
	cycle := func() {
		q.AddBatch(items[:])
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

// TestC60ForgedTokens: a token that the queue has not made names nothing.
func TestC60ForgedTokens(t *testing.T) {
	q := shardq.Must(shardq.Options[int]{Shards: 2})
	q.Add(1)
	claim := claimOne(t, q)
	token := claim.Token()
	for _, id := range []uint64{40<<32 | 1, 1<<48 | token.ID, 1<<63 | token.ID, token.ID ^ 1} {
		forged := shardq.NewClaim(1, 0, claim.Owner(), shardq.ClaimToken{ID: id, Fence: token.Fence})
		require.ErrorIs(t, forged.Done(), shardq.ErrClaimEnded, "%x", id)
		require.False(t, forged.Valid())
	}
	require.PanicsWithValue(t, "shardq: ClaimReturn.Reason is 77: want ReturnRetry, ReturnRequeue or ReturnRelease",
		func() { _ = claim.Return(shardq.ClaimReturn{Reason: 77}) })
	require.True(t, claim.Valid())
	require.NoError(t, claim.Done())
}

// TestC27SlowClock: a delay is filed also if to set the timer takes longer than a tick.
func TestC27SlowClock(t *testing.T) {
	fake := newFake()
	q := shardq.Must(shardq.Options[string]{Clock: draggingClock{fake}})
	q.AddAfter("a", time.Hour)
	fake.Step(2 * time.Hour)
	require.Equal(t, 1, q.Len())
	q.ShutDown()
}

// A draggingClock takes 3 ms to set a timer.
type draggingClock struct{ *clock.Fake }

func (c draggingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	timer := c.Fake.AfterFunc(d, f)
	c.Fake.Step(3 * time.Millisecond)
	return draggingTimer{timer, c.Fake}
}

type draggingTimer struct {
	clock.Timer
	fake *clock.Fake
}

func (t draggingTimer) Reset(d time.Duration) bool {
	defer t.fake.Step(3 * time.Millisecond)
	return t.Timer.Reset(d)
}
