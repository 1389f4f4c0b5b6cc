package shard

import (
	"math/bits"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestShardFillsCacheLines: the locks of two shards must not share a line. On
// 64-bit platforms a shard fills whole lines. On 32-bit platforms it is smaller
// and not padded, so the end of one shard shares a line with the beginning of
// the next. There the test asserts that two locks are further apart than a
// line, and that what every call uses is not longer than one.
func TestShardFillsCacheLines(t *testing.T) {
	const line, pointer = unsafe.Sizeof(cacheLine{}), unsafe.Sizeof(uintptr(0))
	var sh shard
	size := unsafe.Sizeof(sh)
	if bits.UintSize == 32 {
		require.GreaterOrEqual(t, size, line)
		require.LessOrEqual(t, unsafe.Offsetof(sh.table)+pointer, line)
		return
	}
	require.Zero(t, size%line)
	require.Zero(t, unsafe.Sizeof(contents{})%line)
	// What every call writes is on the first line, what it only reads on the second.
	require.LessOrEqual(t, unsafe.Offsetof(sh.peak)+unsafe.Sizeof(sh.peak), line)
	require.LessOrEqual(t, line, unsafe.Offsetof(sh.table))
}

// TestHotWordsHaveLinesOfTheirOwn: what every Get writes, and what every Add
// reads, share a line neither with each other nor with anything else.
func TestHotWordsHaveLinesOfTheirOwn(t *testing.T) {
	const line = unsafe.Sizeof(cacheLine{})
	var s Set[string]
	coarse, parker := unsafe.Offsetof(s.Core.coarse), unsafe.Offsetof(s.Core.parker)
	before := unsafe.Offsetof(s.Core.shards) + unsafe.Sizeof(s.Core.shards)
	require.GreaterOrEqual(t, coarse-before, line, "what does not change, and the coarse clock")
	require.GreaterOrEqual(t, parker-coarse, line)
	require.Equal(t, line, unsafe.Sizeof(lane{}))
	require.GreaterOrEqual(t, unsafe.Sizeof(*s.Core)-parker-unsafe.Sizeof(s.Core.parker), line, "the parker and the end")
}

// TestDefaultShards: the numbers of shards on machines of several sizes.
func TestDefaultShards(t *testing.T) {
	for processors, want := range map[int]int{1: 16, 2: 32, 3: 32, 4: 32, 8: 64, 12: 128, 64: 256, 128: 256} {
		require.Equal(t, want, DefaultShards(processors), "%d processors", processors)
	}
}
