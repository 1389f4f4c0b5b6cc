package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/worker"
)

// A batch of a source ends before it would be too heavy. What did not fit begins the next one.
func TestC84BatchesByWeight(t *testing.T) {
	own, got := newShelf(strings.Fields("a7 b3 c0 d1 e12 f9 g1 h2 i2 j2 k2")...), [][]string(nil)
	own.close()
	require.NoError(t, runPool(t.Context(), t, own, worker.Options[string]{
		BatchSize: 3, BatchWeight: 10, Weigh: func(item string) int { n, _ := strconv.Atoi(item[1:]); return n },
		HandleBatch: func(_ context.Context, items []string) []error { got = append(got, slices.Clone(items)); return nil },
	}))
	require.Equal(t, "[[a7 b3 c0] [d1] [e12] [f9] [g1 h2 i2] [j2 k2]]", fmt.Sprint(got))
}

// Bisect finds the bad items in few calls, and writes each good one once.
func TestC84Bisect(t *testing.T) {
	for seed := range 2000 {
		n, bad, calls, written := seed%40, seed*0x9E3779B>>2, 0, map[int]bool{}
		isBad := func(item int) bool { return bad>>(item%31)&3 == 1 }
		errs := worker.Bisect(func(_ context.Context, items []int) error {
			calls++
			slices.Reverse(items)
			if i := slices.IndexFunc(items, isBad); i >= 0 && items[i]%2 == 0 {
				panic(errOnPurpose)
			} else if i >= 0 {
				return worker.Permanent(errOnPurpose)
			}
			for _, item := range items {
				require.False(t, written[item])
				written[item] = true
			}
			return nil
		}, nil)(t.Context(), numbers(n))
		require.LessOrEqual(t, calls, max(0, 2*n-1))
		require.Equal(t, len(written) == n, errs == nil)
		for item := range n {
			require.Equal(t, isBad(item), errs != nil && errs[item] != nil)
			require.NotEqual(t, isBad(item), written[item])
		}
	}
}

// Of eight items, four are written, and then an error says nothing about items.
func TestC84BisectStops(t *testing.T) {
	down := errors.New("connection lost")
	for _, last := range []error{
		down, fmt.Errorf("wrapped: %w", context.DeadlineExceeded), context.Canceled,
		worker.RequeueAfter(1), worker.RetryAfter(1, errOnPurpose), errOnPurpose,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		results := []error{errOnPurpose, nil, last}
		errs := worker.Bisect(func(context.Context, []int) error {
			result := results[0]
			if results = results[1:]; len(results) == 0 {
				cancel() // the write may fail in any way then, or have failed before
			}
			return result
		}, func(err error) bool { return err == down })(ctx, numbers(8))
		if last == errOnPurpose {
			last = context.Canceled
		}
		cancel()
		require.Equal(t, []error{nil, nil, nil, nil, last, last, last, last}, errs)
	}
}

// Large items are claimed one at a time, and no differently.
func TestC37BatchOfLargeItems(t *testing.T) {
	q := newQueue[[257]byte](1)
	addAll(q, [][257]byte{{1}, {2}, {3}})
	claims := make([]worker.Claim[[257]byte], 4)
	n, err := q.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, [4]byte{1, 2, 3}, [4]byte{claims[0].Item[0], claims[1].Item[0], claims[2].Item[0], claims[3].Item[0]})
	require.NoError(t, q.DoneClaims(claims[:n]))
	require.Zero(t, q.Stats().Held)
}
