package items

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexOfWideIDs: ids with too many bits for a slot get more bits, at each size, and
// segments of different widths join. Fewer bits of the hash are left then, in the
// end too few to compute where probes begin. Hashes that differ in their low bits
// alone let the directory grow to its bound, and then a segment.
func TestIndexOfWideIDs(t *testing.T) {
	for name, shape := range map[string]func(uint32) uint32{
		"any":      func(hash uint32) uint32 { return hash },
		"skewed":   func(hash uint32) uint32 { return hash & (hash<<12 | 0xffff) },
		"low bits": func(hash uint32) uint32 { return hash&0x3ff | 0x2bcdef<<homeBits },
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			c := indexOf{T: t, index: newIndex(), hashes: map[uint32]uint32{}}
			for width := 13; width <= 29; width += 2 {
				for range 500 {
					id, hash := 1+random.Uint32N(1<<width-1), shape(random.Uint32())
					if hash>>(homeBits+2)&1 == 0 {
						id &= 1<<fewestIDBits - 1
					}
					c.insert(max(id, 1), hash)
				}
				c.check()
			}
			for id := range c.hashes {
				if c.remove(id); len(c.hashes)%500 == 0 {
					c.check()
				}
			}
		})
	}
}

type indexOf struct {
	*testing.T
	index
	hashes map[uint32]uint32
}

func (c *indexOf) of(id uint32) uint32 { return c.hashes[id] }

func (c *indexOf) insert(id, hash uint32) {
	if _, known := c.hashes[id]; !known {
		c.hashes[id] = hash
		c.index.insert(hash, id, c.of)
	}
}

func (c *indexOf) remove(id uint32) {
	hash := c.hashes[id]
	s := c.segmentOf(hash)
	if s.remove(s.locate(id, hash), c.of); s.sparse() {
		c.shrink(s, hash, c.of)
	}
	delete(c.hashes, id)
}

func (c *indexOf) check() {
	require.Len(c, checkIndex(c, &c.index, c.of), len(c.hashes))
	require.LessOrEqual(c, int(c.depth), deepest)
	for _, hash := range c.hashes {
		first := (&Table{index: c.index}).Candidate(hash)
		s := c.segmentOf(hash)
		require.Equal(c, s.part(hash)<<s.idBits, s.part(c.of(first))<<s.idBits)
	}
}

// TestSplitsReadNoEntry: the first four splits of a segment do not, and a later one
// reads entries so that slots tell the next bits of the directory again.
func TestSplitsReadNoEntry(t *testing.T) {
	hashes, reads := []uint32{0}, 0
	of := func(id uint32) uint32 { reads++; return hashes[id] }
	x := newIndex()
	for id := uint32(1); id < 40_000; id++ {
		hashes = append(hashes, mix(id))
		if x.insert(hashes[id], id, of); x.depth <= 4 {
			require.Zero(t, reads, "%d entries", id)
		}
	}
	require.NotZero(t, reads)
	for _, s := range x.directory {
		require.GreaterOrEqual(t, s.tagBits(), fewestTagBits)
	}
	require.Len(t, checkIndex(t, &x, of), len(hashes)-1)
}

// TestRemovalReadsNoEntry: slots tell where probes begin, as long as a shard
// has at most four million ids.
func TestRemovalReadsNoEntry(t *testing.T) {
	s := segment{slots: make([]slot, largestSegment), idBits: fewestIDBits}
	for _, idBits := range []uint8{fewestIDBits, 20, 22} {
		s.widen(idBits)
		require.True(t, s.tells(largestSegment), "%d bits", idBits)
	}
	require.Equal(t, uint8(22), s.idBits)
	s.widen(23)
	require.False(t, s.tells(largestSegment))
}
