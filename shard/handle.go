package shard

import (
	"context"
	"math"

	"github.com/shardq/shardq/internal/sentinel"
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

func (sh *shard[T]) handle(id uint32, e *entry[T]) Handle {
	return Handle{fence: sh.table.fenceOf(id, e), id: id, shard: sh.number}
}

// mark is 0 unless the item is in processing.
func (e *entry[T]) mark() uint8 {
	if e.inFlight() {
		return markOf(e.fence)
	}
	return 0
}

func (sh *shard[T]) fence() uint64 { return 2 * sh.count.added }

type fences struct {
	upper    cells[uint32] // the upper halves of fences, 0 until two billion adds
	canceled cells[uint32] // fences, marked as sealed, of items canceled meanwhile
}

func (t *table[T]) needFences() {
	if t.fences == nil {
		t.fences = &fences{}
		t.addColumn(&t.fences.upper)
		t.addColumn(&t.fences.canceled)
	}
}

func (t *table[T]) setUpperFence(id, upper uint32) {
	t.needFences()
	*t.fences.upper.Extend(id) = upper
}

func (t *table[T]) fenceOf(id uint32, e *entry[T]) uint64 {
	if t.fences != nil {
		if upper := t.fences.upper.Lookup(id); upper != nil {
			return uint64(*upper)<<32 | uint64(e.fence)
		}
	}
	return uint64(e.fence)
}

func (sh *shard[T]) claimed(h Handle) *entry[T] {
	if sh.table == nil {
		return nil
	}
	e := sh.table.cells.Lookup(h.id)
	if e == nil || !e.inFlight() || e.fence != uint32(h.fence) {
		return nil
	}
	if (sh.table.fences != nil || h.fence > math.MaxUint32) && sh.table.fenceOf(h.id, e) != h.fence {
		return nil
	}
	return e
}

// Take is [Set.GetContext] with the item's priority and Handle.
func (s *Set[T]) Take(ctx context.Context) (item T, priority int, h Handle, err error) {
	if err := ctx.Err(); err != nil {
		return item, 0, Handle{}, err
	}
	if item, priority, h, ok := s.TryTake(); ok {
		return item, priority, h, nil
	}
	var one [1]T
	var its [1]int
	var handles [1]Handle
	_, err = s.awaitContext(ctx, buffers[T]{one[:], its[:], handles[:]})
	return one[0], its[0], handles[0], err
}

// TryTake is [Set.Take] without blocking.
func (s *Set[T]) TryTake() (item T, priority int, h Handle, ok bool) {
	if s.cares.Load() != 0 {
		return s.tryTakeWithCare()
	}
	return s.takeNow(0)
}

func (s *Set[T]) tryTakeWithCare() (item T, priority int, h Handle, ok bool) {
	if s.config.Ages {
		s.refreshForWork()
	}
	now := s.readForTake()
	if s.cares.Load()&caresForGate != 0 {
		return s.takeOneThroughGate(now)
	}
	if item, priority, h, ok = s.takeNow(now); ok {
		s.setWatchdog()
	}
	return item, priority, h, ok
}

func (s *Set[T]) takeOneThroughGate(now uint64) (item T, priority int, h Handle, ok bool) {
	var one [1]T
	var its [1]int
	var handles [1]Handle
	if s.takeThroughGate(buffers[T]{one[:], its[:], handles[:]}, now) == 0 {
		return item, 0, h, false
	}
	s.setWatchdog()
	return one[0], its[0], handles[0], true
}

// TakeBatch takes as many ready items as dst has room for. It blocks as
// [Set.GetContext] does. The other slices are as long as dst, or nil.
func (s *Set[T]) TakeBatch(ctx context.Context, dst []T, priorities []int, handles []Handle) (n int, err error) {
	b := buffers[T]{dst, priorities, handles}
	if err := ctx.Err(); err != nil || len(dst) == 0 {
		return 0, err
	}
	if n = s.takeSome(b); n > 0 {
		return n, nil
	}
	return s.awaitContext(ctx, b)
}

// TakeMore follows another take. It neither blocks nor calls user code.
func (s *Set[T]) TakeMore(dst []T, priorities []int, handles []Handle) (n int) {
	return s.takeHere(buffers[T]{dst, priorities, handles}, s.gate.last.Load())
}

// Valid reports whether the processing that h names goes on.
func (s *Set[T]) Valid(h Handle) bool {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.claimed(h) != nil
}

// Seal replaces h by the only Handle of the processing, so that its caller may
// call user code before ending it. It returns false if h names nothing.
func (s *Set[T]) Seal(h Handle) (only Handle, ok bool) {
	sh := s.shard(int(h.shard))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.claimed(h)
	if e == nil {
		return h, false
	}
	e.fence |= sealed
	h.fence |= sealed
	return h, true
}

// HandleOf returns the Handle of an item in processing, or the zero Handle.
func (s *Set[T]) HandleOf(item T) Handle {
	if s.config.Ages {
		s.refreshForWork()
	}
	sh, hash := s.locate(item)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	id, e := sh.inProcessing(item, hash)
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
	var one [1]T
	_, shutdown, _ = s.await(nil, buffers[T]{items: one[:]})
	return one[0], shutdown
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
	var one [1]T
	_, err = s.awaitContext(ctx, buffers[T]{items: one[:]})
	return one[0], err
}

func (s *Set[T]) awaitContext(ctx context.Context, b buffers[T]) (n int, err error) {
	n, shutdown, canceled := s.await(ctx.Done(), b)
	switch {
	case shutdown:
		return 0, ErrShutDown
	case canceled:
		return 0, ctx.Err()
	}
	return n, nil
}
