package registry

import (
	"fmt"
	"math"
	"testing"

	"github.com/shardq/shardq/stats"
	"github.com/stretchr/testify/require"
)

// TestLargestCompareFew: each group costs a few comparisons, for any limit,
// even one whose double overflows an int.
func TestLargestCompareFew(t *testing.T) {
	const groups = 5000
	for _, limit := range []int{1, 100, groups, math.MaxInt/2 + 1, math.MaxInt} {
		compared := 0
		kept, rest := largest(func(yield func(stats.Group) bool) {
			for i := range groups {
				if !yield(stats.Group{Group: fmt.Sprint(i), Held: 1 + i*7919%groups}) {
					return
				}
			}
		}, limit, func(a, b stats.Group) int {
			compared++
			return byHeld(a, b)
		})
		require.Len(t, kept, min(limit, groups))
		require.Equal(t, groups, kept[0].Held)
		held := rest.Held
		for _, g := range kept {
			held += g.Held
		}
		require.Equal(t, groups*(groups+1)/2, held)
		require.Less(t, compared, 50*groups, "limit %d", limit)
	}
}
