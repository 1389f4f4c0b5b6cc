package shard

import (
	"fmt"
	"sync/atomic"

	"github.com/shardq/shardq/shard/internal/items"
)

// An idLimit bounds the ids of a shard.
type idLimit struct {
	most    uint32 // items.MaxIDs, or less in tests
	crowded atomic.Bool
}

// MaxItems is the greatest number of items that a shard holds, in any state.
const MaxItems = items.MaxIDs - 1

var errTooMany = fmt.Errorf("%w: its shard holds %d items", ErrFull, MaxItems)

// hasID reports whether there is an id, when the slab is about to open a chunk.
func (sh *shard) hasID() bool {
	ids := sh.set.ids.most
	if sh.table.NextChunkEnds() > ids-reserve(ids) {
		sh.set.ids.crowded.Store(true)
	}
	return !sh.table.Exhausted(ids)
}

// reserve is the number of ids that are left when Crowded begins to return
// errors: more than goroutines may be between their Crowded and their add.
func reserve(ids uint32) uint32 { return ids >> 9 }
