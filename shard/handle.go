package shard

import (
	"context"
	"math"

	"github.com/shardq/shardq/internal/sentinel"
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

// Place names one of the processings that go on: see [HandleAt].
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
	if (sh.table.HasFences() || h.fence > math.MaxUint32) && sh.table.FenceOf(h.id, e) != h.fence {
		return nil
	}
	return e
}

// TakeBatch takes as many ready items as dst has room for. It blocks as
// [Set.GetContext] does. The other slices are as long as dst, or nil.
func (s *Set[T]) TakeBatch(ctx context.Context, dst []T, priorities []int, handles []Handle) (n int, err error) {
	b := buffers[T]{items: dst, priorities: priorities, handles: handles}
	if err := ctx.Err(); err != nil || len(dst) == 0 {
		return 0, err
	}
	if n = s.Core.takeSome(len(dst), b.put); n > 0 {
		return n, nil
	}
	return s.Core.awaitContext(ctx, len(dst), b.put)
}

// TakeMore follows another take. It does not block, and calls no user code but the clock.
func (s *Set[T]) TakeMore(dst []T, priorities []int, handles []Handle) (n int) {
	b := buffers[T]{items: dst, priorities: priorities, handles: handles}
	return s.Core.takeHere(len(dst), b.put, s.Core.gate.last.Load())
}

// Valid reports whether the processing that h names goes on.
func (s *Core) Valid(h Handle) bool {
	sh := s.shard(int(h.shard))
	sh.lock()
	defer sh.unlock()
	return sh.claimed(h) != nil
}

// Seal replaces h by the only Handle of the processing, so that its caller may
// call user code before ending it. It returns false if h names nothing.
func (s *Core) Seal(h Handle) (only Handle, ok bool) {
	sh := s.shard(int(h.shard))
	sh.lock()
	defer sh.unlock()
	e := sh.claimed(h)
	if e == nil {
		return h, false
	}
	e.Fence |= sealed
	h.fence |= sealed
	return h, true
}

// HandleOf returns the Handle of an item in processing, or the zero Handle.
func (s *Set[T]) HandleOf(item T) Handle {
	if s.Core.config.Ages {
		s.Core.refreshForWork()
	}
	sh, hash := s.locate(item)
	sh.lock()
	defer sh.unlock()
	id, e := s.inProcessing(sh, item, hash)
	if id == 0 {
		return Handle{}
	}
	return sh.handle(id, e)
}

// Get takes the next ready item into processing, and blocks until there is one.
func (s *Set[T]) Get() (item T, shutdown bool) {
	if item, _, _, ok := s.TryTake(); ok {
		return item, false
	}
	item, _, _, err := s.awaitOne(context.Background())
	return item, err != nil
}

// ErrShutDown is the error of [Set.GetContext] where [Set.Get] returns true.
var ErrShutDown = sentinel.ErrShutDown

// GetContext is Get that ends with ctx. With an error, no item was taken.
func (s *Set[T]) GetContext(ctx context.Context) (item T, err error) {
	if err := ctx.Err(); err != nil {
		return item, err
	}
	if item, _, _, ok := s.TryTake(); ok {
		return item, nil
	}
	item, _, _, err = s.awaitOne(ctx)
	return item, err
}

func (s *Core) awaitContext(ctx context.Context, most int, put receiver) (n int, err error) {
	n, shutdown, canceled := s.await(ctx.Done(), most, put)
	switch {
	case shutdown:
		return 0, ErrShutDown
	case canceled:
		return 0, ctx.Err()
	}
	return n, nil
}
