package wake

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
)

// TestSearchAgainstModel: the sets come in the order of the classes, each with the
// ready shards that serve it, whatever was shown, emptied and tidied before.
func TestSearchAgainstModel(t *testing.T) {
	testscale.Rapid(1_000)
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(2, 130).Draw(t, "shards")
		r, p := NewReady(shards), NewPriorities(shards)
		serves := map[uint16]int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			shard := uint16(rapid.IntRange(0, shards-1).Draw(t, "shard"))
			if r.IsMarked(shard) && rapid.Bool().Draw(t, "empty") {
				r.Clear(shard)
			} else {
				serves[shard] = rapid.OneOf(rapid.IntRange(-20, 20), rapid.Int()).Draw(t, "priority")
				became := !r.IsMarked(shard)
				r.Mark(shard)
				p.Show(shard, serves[shard], became)
			}
			checkSets(t, &r, p, serves)
		}
	})
}

func checkSets(t *rapid.T, r *Ready, p *Priorities, serves map[uint16]int) {
	seen, last := map[uint16]bool{}, int16(math.MaxInt16)
	var c Search
	c.Begin(p, r)
	for set := c.Next(); !c.IsLast(); set = c.Next() {
		for i := range r.Words() {
			for found := set.Of(r, i); found != 0; found &= found - 1 {
				shard := uint16(i*WordBits + bits.TrailingZeros64(found))
				class := classOf(serves[shard])
				require.True(t, r.IsMarked(shard))
				if set.without != 0 {
					class = max(0, class) // with those above, which were met before
					require.GreaterOrEqual(t, classOf(serves[shard]), int16(0))
					if seen[shard] {
						continue
					}
				}
				require.LessOrEqual(t, class, last)
				seen[shard], last = true, class
			}
		}
	}
	for shard := range serves {
		require.Equal(t, r.IsMarked(shard), seen[shard], "shard %d", shard)
	}
}

// TestShardComesWhileItsClassIsHidden: a Get finds nothing in a class, and a shard
// joins the class before the Get hides it. The shard found the class shown, so the
// Get must show it again.
func TestShardComesWhileItsClassIsHidden(t *testing.T) {
	r, p := NewReady(2), NewPriorities(2)
	p.Show(0, 5, true) // without an item
	r.Mark(1)
	p.Show(1, 5, true)
	p.above.tidy(5, 1, &r)
	require.NotZero(t, p.above.present[0].Load()>>5&1)
}

func TestClasses(t *testing.T) {
	before := int16(math.MinInt16)
	for _, priority := range []int{math.MinInt, math.MinInt / 2, -33, -32, -17, -16, -15, -1, 0, 1, 15, 16, 18, 31, 32, 36, math.MaxInt / 2, math.MaxInt} {
		class := classOf(priority)
		require.GreaterOrEqual(t, class, before, "%d", priority)
		if -exactClasses < priority && priority < exactClasses {
			require.Equal(t, priority, int(class))
		}
		require.Less(t, max(class, -class), int16(classes))
		before = class
	}
}
