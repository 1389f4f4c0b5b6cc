package wake

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
)

// TestReadyAgainstModel compares the bits with a set of shards.
func TestReadyAgainstModel(t *testing.T) {
	testscale.Rapid(100)
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.SampledFrom([]int{2, 15, 16, 17, 63, 64, 65, 200, 4096}).Draw(t, "shards")
		r, model := NewReady(shards), map[int]bool{}
		require.GreaterOrEqual(t, r.Words()*WordBits, shards)
		for _, shard := range rapid.SliceOf(rapid.IntRange(0, shards-1)).Draw(t, "marked or cleared") {
			if model[shard] {
				r.Clear(uint16(shard))
				delete(model, shard)
			} else {
				r.Mark(uint16(shard))
				model[shard] = true
			}
			require.Equal(t, len(model) > 0, r.Any())
		}
		for shard := range r.Words() * WordBits {
			require.Equal(t, model[shard], r.Word(shard/WordBits)>>(shard%WordBits)&1 == 1, "shard %d", shard)
			require.Equal(t, model[shard], shard < shards && r.IsMarked(uint16(shard)))
		}
	})
}

// TestOneShardHasNoBits: whoever wants to know locks it.
func TestOneShardHasNoBits(t *testing.T) {
	r := NewReady(1)
	r.Mark(0)
	require.False(t, r.Any() || r.IsMarked(0))
	r.Clear(0)
	require.Zero(t, r.Words())
}
