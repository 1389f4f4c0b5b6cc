package least

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSelection compares it with a sort of all.
func TestSelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(-1, 20).Draw(t, "n")
		keys := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Just(uint64(math.MaxUint64)))).Draw(t, "keys")
		s, places := New[int](n), make([]int, len(keys))
		for i, key := range keys {
			s.Add(key, i)
			require.Equal(t, min(i+1, max(n, 0)), s.Len())
			places[i] = i
		}
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
		require.Equal(t, places[:min(max(n, 0), len(places))], s.Values())
	})
}

// TestFewAreKept: of very many, at random or in order, few are wanted.
func TestFewAreKept(t *testing.T) {
	s, wanted := New[struct{}](10), 0
	for i := range uint64(1_000_000) {
		key := i * 0x9e3779b97f4a7c15
		if s.Wants(key) {
			wanted++
		}
		s.Add(key, struct{}{})
	}
	require.Less(t, wanted, 1000)
}
