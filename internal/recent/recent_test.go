package recent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLast compares the last values with those of a slice of all.
func TestLast(t *testing.T) {
	for most := 1; most < 5; most++ {
		var r Ring[int]
		require.Empty(t, Last(&r, 10))
		for added := 1; added < 20; added++ {
			Add(&r, added, most)
			for limit := -1; limit < 7; limit++ {
				want := []int{}
				for i := range max(0, min(limit, most, added)) {
					want = append(want, added-i)
				}
				require.Equal(t, want, Last(&r, limit), "%d of %d", limit, added)
			}
		}
	}
}
