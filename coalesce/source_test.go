package coalesce

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

func newSource(t *testing.T, o Options[int, int]) (*Coalescer[int, int], *Source[int, int]) {
	o.Merge = func(pending, next int) int { return pending + next }
	c := MustNew(o)
	s, err := c.NewSource("log", 0)
	require.NoError(t, err)
	return c, s
}

type event struct{ source, offset int }

// Readers put beside workers that finish and return. No position is higher than an
// offset that is not done, and in the end, all are.
func TestC85PositionsBesideWorkers(t *testing.T) {
	const readers, events = 3, 3000
	c := MustNew(Options[int, []event]{Merge: func(pending, next []event) []event { return append(pending, next...) }})
	var done [readers][events]atomic.Bool
	var reading, rest, workers sync.WaitGroup
	var ended atomic.Bool
	for r := range readers {
		s, err := c.NewSource(string(rune('a'+r)), 0)
		require.NoError(t, err)
		reading.Go(func() {
			for o := range events {
				require.NoError(t, s.Put(o*(r+1)%7, []event{{r, o}}, int64(o)))
			}
		})
		rest.Go(func() {
			for at, over := int64(0), false; !over; {
				over = ended.Load()
				for safe := s.Safe(); at < safe; at++ {
					require.True(t, done[r][at].Load(), "%d of %d", at, r)
				}
				require.True(t, !over || at == events, "all are done")
			}
		})
	}
	for w := range 3 {
		workers.Go(func() {
			for n := w; ; n++ {
				claim, err := c.Claim(context.Background())
				if err != nil {
					return
				}
				if n%3 == 0 {
					require.NoError(t, claim.Release())
					continue
				}
				for _, e := range claim.Item.Value {
					done[e.source][e.offset].Store(true) // before the position can pass it
				}
				require.NoError(t, claim.Done())
			}
		})
	}
	reading.Wait()
	c.ShutDown()
	workers.Wait()
	ended.Store(true)
	rest.Wait()
}

// A pending value needs 24 bytes at most, and an event none.
func TestC85MemoryOfSources(t *testing.T) {
	require.EqualValues(t, 16, unsafe.Sizeof(node{}))
	c, s := newSource(t, Options[int, int]{})
	const burst = 20_000
	for range 3 {
		for i := range burst {
			require.NoError(t, s.Put(i, 1, s.ledger.read+1))
		}
		require.LessOrEqual(t, cap(s.ledger.nodes), burst*3/2+16)
		for range burst {
			key, _, _ := c.Take(t.Context())
			c.Done(key)
		}
		require.LessOrEqual(t, cap(s.ledger.nodes), 1024)
		require.Equal(t, s.ledger.read+1, s.Safe())
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		_ = s.Put(1, 1, s.ledger.read+1)
		_ = s.Put(1, 1, s.ledger.read+1)
		_ = s.Safe()
		key, _, _ := c.Take(context.Background())
		c.Done(key)
	}))
}

// Values that finish in any order are found, and their memory is freed.
func TestLedger(t *testing.T) {
	l := newLedger("log", 0)
	for i := range int64(5000) {
		l.insertLocked(3*i, 0)
	}
	for i := int64(4999); i > 0; i-- {
		l.finish(3*(i*7%5000), 3*4999)
		require.Equal(t, int(i), l.live)
		require.LessOrEqual(t, cap(l.nodes), 2*l.live+1024)
	}
	require.Zero(t, l.safe())
	l.finish(0, 0)
	require.EqualValues(t, 3*4999+1, l.safe())
}

// A Cancel finds a value that a ClaimBatch is about to take, and then Merge panics for
// another key: no value leaves. A canceled value that a worker has is done when it
// would go back, even if no handler has begun with it.
func TestC85CancelBesideAClaimBatch(t *testing.T) {
	var c *Coalescer[int, int]
	panics := true
	c = MustNew(Options[int, int]{Queue: shardq.Options[int]{Shards: 1}, Merge: func(pending, next int) int {
		_, ok := c.Cancel(1)
		require.False(t, ok)
		if panics {
			panic("on purpose")
		}
		return pending + next
	}})
	s, err := c.NewSource("log", 0)
	require.NoError(t, err)
	require.NoError(t, s.Put(2, 1, 0))
	first, err := c.Claim(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Put(1, 1, 1))
	require.NoError(t, s.Put(2, 1, 2))
	require.NoError(t, first.Release())
	claims := make([]worker.Claim[Entry[int, int]], 2)
	require.Panics(t, func() { _, _ = c.ClaimBatch(t.Context(), claims) })
	require.Equal(t, 2, c.Len())
	for range 3 { // the two values of key 2 do not merge any more
		claim, err := c.Claim(t.Context())
		require.NoError(t, err)
		require.False(t, claim.Canceled())
		if claim.Item.Key == 1 {
			_, _ = c.Cancel(1)
			require.NoError(t, claim.Release())
		} else {
			require.NoError(t, claim.Done())
		}
	}
	require.EqualValues(t, 3, s.Safe())
}

// Drop leaves a value that came from no source, also once it has merged with others.
func TestC86DropOfAMergedValue(t *testing.T) {
	c, s := newSource(t, Options[int, int]{})
	require.NoError(t, s.Put(1, 1, 0))
	_, _, _ = c.Take(t.Context())
	require.NoError(t, s.Put(1, 1, 1))
	require.NoError(t, c.Put(1, 1))
	require.NoError(t, c.PutBack(1, 1))
	require.NoError(t, s.Put(1, 1, 2)) // merges what was given back with the others
	require.Empty(t, s.Drop())
	require.Equal(t, 1, c.Len())
}

// A Done during a return, after it, or before the next processing does not count.
func TestC85LateDone(t *testing.T) {
	var claim worker.Claim[Entry[int, int]]
	var c *Coalescer[int, int]
	begin := func(shardq.Misuse[int]) { claim, _ = c.Claim(t.Context()) }
	c, s := newSource(t, Options[int, int]{Queue: shardq.Options[int]{OnMisuse: begin}, Weight: func(int) int {
		if claim.Owner() != nil {
			require.ErrorIs(t, claim.Done(), worker.ErrClaimEnded)
			require.ErrorIs(t, c.DoneClaims([]worker.Claim[Entry[int, int]]{claim}), worker.ErrClaimEnded)
		}
		return 1
	}})
	require.NoError(t, s.Put(1, 1, 0))
	claim, err := c.Claim(t.Context())
	require.NoError(t, err)
	require.NoError(t, claim.Release())
	require.ErrorIs(t, claim.Done(), worker.ErrClaimEnded)
	c.Done(1)
	require.Zero(t, s.Safe())
	require.NoError(t, claim.Done())
	require.EqualValues(t, 1, s.Safe())
}

// A Put that has waited for room, and whose Merge panics, uses no offset. A lower one
// that comes after it is found.
func TestC85PutThatPanicsAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := MustNew(Options[string, int]{
			Queue: shardq.Options[string]{Shards: 1}, Capacity: 2, Merge: func(_, _ int) int { panic("on purpose") },
		})
		s, err := c.NewSource("log", 0)
		require.NoError(t, err)
		require.NoError(t, s.Put("slow", 1, 0))
		require.NoError(t, c.Put("other", 1))
		go func() {
			time.Sleep(time.Second)
			require.NoError(t, c.Put("bad", 1)) // the Put below merges with it
			_, _, _ = c.Take(t.Context())       // slow
			_, _, _ = c.Take(t.Context())       // other
		}()
		require.Panics(t, func() { _ = s.PutContext(t.Context(), "bad", 1, 7, PutOptions{}) })
		require.NoError(t, s.Put("quick", 1, 5))
		for _, key := range []string{"bad", "quick"} {
			taken, _, _ := c.Take(t.Context())
			require.Equal(t, key, taken)
			c.Done(key)
			require.Zero(t, s.Safe())
		}
		c.Done("slow")
		require.EqualValues(t, 6, s.Safe())
	})
}

// The least offset has none before it, and the greatest none after it.
func TestC85ExtremeOffsets(t *testing.T) {
	c, _ := newSource(t, Options[int, int]{})
	s, err := c.NewSource("extreme", math.MinInt64)
	require.NoError(t, err)
	for _, offset := range []int64{math.MinInt64, math.MaxInt64} {
		require.ErrorIs(t, s.Put(1, 1, offset), ErrOffset)
	}
	for _, offset := range []int64{math.MinInt64 + 1, math.MaxInt64 - 1} {
		require.NoError(t, s.Put(1, 1, offset))
		_, _, _ = c.Take(t.Context())
		require.Equal(t, offset, s.Safe())
		c.Done(1)
		require.Equal(t, offset+1, s.Safe())
	}
}
