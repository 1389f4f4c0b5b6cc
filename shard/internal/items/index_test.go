package items

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexWidensIDs: ids with too many bits for a slot get more bits, at each
// size. Fewer bits of the hash are left then, in the end too few to compute
// where probes begin.
func TestIndexWidensIDs(t *testing.T) {
	hashes := map[uint32]uint32{}
	of := func(id uint32) uint32 { return hashes[id] }
	x := newIndex()
	n := uint32(0)
	for first := uint32(1); first < MaxIDs; first *= 4 {
		for id := first; id < first+min(first, 400); id++ {
			if _, known := hashes[id]; known {
				continue
			}
			hashes[id] = mix(n)
			x.insert(hashes[id], id, of)
			n++
		}
		require.Len(t, checkIndex(t, &x, of), len(hashes))
	}
	for id, hash := range hashes {
		s := x.segmentOf(hash)
		if s.remove(s.locate(id, hash), of); s.sparse() {
			x.shrink(s, hash, of)
		}
		delete(hashes, id)
		if len(hashes)%256 == 0 {
			require.Len(t, checkIndex(t, &x, of), len(hashes))
		}
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
