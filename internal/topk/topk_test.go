package topk

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A row is a value with a place that distinguishes it from equal ones.
type row struct {
	key   uint64
	place int
}

func byKey(a, b row) int { return cmp.Compare(a.key, b.key) }

// TestSelection compares the kept values with a sort of all values, and the
// dropped ones with the rest.
func TestSelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(-1, 20).Draw(t, "n")
		if rapid.Bool().Draw(t, "all") {
			n = math.MaxInt
		}
		keys := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Just(uint64(math.MaxUint64)))).Draw(t, "keys")
		s, all, dropped := New(n, byKey), []row{}, []row{}
		for i, key := range keys {
			all = append(all, row{key, i})
			if key%3 == 0 {
				s.Reserve(i)
			}
			wanted := s.Wants(row{key, i})
			out, drops := s.Add(row{key, i})
			if drops {
				dropped = append(dropped, out)
			}
			require.Equal(t, wanted, !drops || out != row{key, i})
			require.Len(t, s.values, min(i+1, max(n, 0)))
			require.Equal(t, len(s.values) == max(n, 0), s.Full())
		}
		slices.SortStableFunc(all, byKey)
		kept := min(max(n, 0), len(all))
		require.Equal(t, all[:kept], s.Values())
		require.ElementsMatch(t, all[kept:], dropped)
	})
}
