package shard

import (
	"github.com/shardq/shardq/shard/internal/items"
)

// A Handle names one processing of an item, which it can end without calling
// user code. The zero Handle names nothing.
type Handle struct {
	// fence is twice the number of adds that the shard had counted at the
	// hand-out, plus 1 once the Handle is sealed. There is an add between two
	// hand-outs of an item or an id, so id and fence name one processing.
	fence uint64
	id    uint32
	shard uint16
}

// Fence returns a number that grows with each hand-out of the item.
func (h Handle) Fence() uint64 { return h.fence >> 1 }

// Mark is a short form of Fence, from 1 to 128.
func (h Handle) Mark() uint8 { return markOf(uint32(h.fence)) }

func markOf(fence uint32) uint8 { return uint8(fence>>1)&127 + 1 }

// Place differs between all processings that are under way at one time. Place and Fence
// name one processing: see [HandleAt].
func (h Handle) Place() uint64 { return uint64(h.shard)<<32 | uint64(h.id) }

func HandleAt(place, fence uint64) Handle {
	return Handle{fence: fence << 1, id: uint32(place), shard: uint16(place >> 32)}
}

const sealed = 1

func (sh *shard) handle(id uint32, e *items.Entry) Handle {
	return Handle{fence: sh.table.FenceOf(id, e), id: id, shard: sh.number}
}

// markOfEntry is 0 unless the item is in processing.
func markOfEntry(e *items.Entry) uint8 {
	if e.InFlight() {
		return markOf(e.Fence)
	}
	return 0
}

func (sh *shard) fence() uint64 { return 2 * sh.count.added }

func (sh *shard) claimed(h Handle) *items.Entry {
	if sh.table == nil {
		return nil
	}
	e := sh.table.Lookup(h.id)
	if e == nil || !e.InFlight() || e.Fence != uint32(h.fence) {
		return nil
	}
	if (sh.table.HasFences() || h.fence>>32 != 0) && sh.table.FenceOf(h.id, e) != h.fence {
		return nil
	}
	return e
}

// lockClaimed returns nil if the processing that h names has ended.
func (s *Core) lockClaimed(h Handle) (sh *shard, e *items.Entry) {
	sh = s.shard(int(h.shard))
	sh.lock()
	return sh, sh.claimed(h)
}

// Valid reports whether the processing that h names goes on.
func (s *Core) Valid(h Handle) bool {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	return e != nil
}

// Seal invalidates h, and returns the only Handle that names the processing
// from now on. So only the caller can end the processing, and may call user
// code before it does. It returns false if the processing had ended.
func (s *Core) Seal(h Handle) (only Handle, ok bool) {
	sh, e := s.lockClaimed(h)
	defer sh.unlock()
	if e == nil {
		return h, false
	}
	e.Fence |= sealed
	return h.Sealed(), true
}

// Sealed returns the Handle that [Core.Seal] returns of h.
func (h Handle) Sealed() Handle {
	h.fence |= sealed
	return h
}
