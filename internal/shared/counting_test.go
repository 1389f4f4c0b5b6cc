//go:build countwrites

package shared_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shardq/shardq/internal/shared"
)

func TestWritesAndReadsAreCounted(t *testing.T) {
	defer shared.Reset()
	var words struct {
		_     [64]byte
		ready [2]shared.Uint64[shared.Ready]
		_     [64]byte
		lock  shared.Mutex[shared.Lock]
	}
	shared.Reset()
	words.ready[0].Or(1)
	words.ready[1].CompareAndSwap(1, 2) // fails, but takes the line all the same
	words.ready[0].Load()
	words.lock.Lock()
	assert.False(t, words.lock.TryLock())
	words.lock.Unlock()

	writes, reads := map[string]uint64{}, map[string]uint64{}
	for _, line := range shared.Lines() {
		writes[line.Name] += line.Writes
		reads[line.Name] += line.Reads
	}
	assert.Equal(t, map[string]uint64{"ready bits": 2, "lock of a shard": 2}, writes)
	assert.Equal(t, map[string]uint64{"ready bits": 1, "lock of a shard": 1}, reads)
}
