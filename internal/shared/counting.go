//go:build countwrites

package shared

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// lineSize is the size of a cache line.
const lineSize = 64

// A Line is a cache line with words of one kind.
type Line struct {
	Name          string
	Scope         Scope
	Address       uintptr // of the line
	Writes, Reads uint64
}

type tally struct {
	kind          Kind
	writes, reads atomic.Uint64
}

// tallies maps the address of each word to a *tally. It keeps the words alive,
// so that no other word gets the address of a counted one.
var tallies sync.Map // of unsafe.Pointer

// Reset clears all counts. Nothing may be counted concurrently.
func Reset() { tallies.Clear() }

// Lines returns the counts since Reset, in no particular order.
func Lines() (lines []Line) {
	type key struct {
		kind    Kind
		address uintptr
	}
	at := map[key]int{}
	tallies.Range(func(word, value any) bool {
		t := value.(*tally)
		k := key{t.kind, uintptr(word.(unsafe.Pointer)) &^ (lineSize - 1)}
		i, known := at[k]
		if !known {
			i = len(lines)
			at[k] = i
			name, scope := t.kind.Describe()
			lines = append(lines, Line{Name: name, Scope: scope, Address: k.address})
		}
		lines[i].Writes += t.writes.Load()
		lines[i].Reads += t.reads.Load()
		return true
	})
	return lines
}

func tallyOf[K Kind](word unsafe.Pointer) *tally {
	if t, ok := tallies.Load(word); ok {
		return t.(*tally)
	}
	t, _ := tallies.LoadOrStore(word, &tally{kind: *new(K)})
	return t.(*tally)
}

// wrote counts a write. A failed exchange counts too, because it takes the line
// for its core all the same.
func wrote[K Kind](word unsafe.Pointer) { tallyOf[K](word).writes.Add(1) }

func read[K Kind](word unsafe.Pointer) { tallyOf[K](word).reads.Add(1) }

// A Uint64 is an atomic.Uint64 that counts.
type Uint64[K Kind] struct{ v atomic.Uint64 }

func (w *Uint64[K]) Load() uint64          { read[K](unsafe.Pointer(w)); return w.v.Load() }
func (w *Uint64[K]) Store(v uint64)        { wrote[K](unsafe.Pointer(w)); w.v.Store(v) }
func (w *Uint64[K]) Add(d uint64) uint64   { wrote[K](unsafe.Pointer(w)); return w.v.Add(d) }
func (w *Uint64[K]) Or(mask uint64) uint64 { wrote[K](unsafe.Pointer(w)); return w.v.Or(mask) }
func (w *Uint64[K]) And(mask uint64) uint64 {
	wrote[K](unsafe.Pointer(w))
	return w.v.And(mask)
}

func (w *Uint64[K]) Swap(v uint64) (before uint64) {
	wrote[K](unsafe.Pointer(w))
	return w.v.Swap(v)
}

func (w *Uint64[K]) CompareAndSwap(from, to uint64) bool {
	wrote[K](unsafe.Pointer(w))
	return w.v.CompareAndSwap(from, to)
}

// A Uint32 is an atomic.Uint32 that counts.
type Uint32[K Kind] struct{ v atomic.Uint32 }

func (w *Uint32[K]) Load() uint32         { read[K](unsafe.Pointer(w)); return w.v.Load() }
func (w *Uint32[K]) Store(v uint32)       { wrote[K](unsafe.Pointer(w)); w.v.Store(v) }
func (w *Uint32[K]) Add(d uint32) uint32  { wrote[K](unsafe.Pointer(w)); return w.v.Add(d) }
func (w *Uint32[K]) Swap(v uint32) uint32 { wrote[K](unsafe.Pointer(w)); return w.v.Swap(v) }
func (w *Uint32[K]) CompareAndSwap(from, to uint32) bool {
	wrote[K](unsafe.Pointer(w))
	return w.v.CompareAndSwap(from, to)
}

// An Int64 is an atomic.Int64 that counts.
type Int64[K Kind] struct{ v atomic.Int64 }

func (w *Int64[K]) Load() int64       { read[K](unsafe.Pointer(w)); return w.v.Load() }
func (w *Int64[K]) Add(d int64) int64 { wrote[K](unsafe.Pointer(w)); return w.v.Add(d) }
func (w *Int64[K]) CompareAndSwap(from, to int64) bool {
	wrote[K](unsafe.Pointer(w))
	return w.v.CompareAndSwap(from, to)
}

// An Int32 is an atomic.Int32 that counts.
type Int32[K Kind] struct{ v atomic.Int32 }

func (w *Int32[K]) Load() int32       { read[K](unsafe.Pointer(w)); return w.v.Load() }
func (w *Int32[K]) Store(v int32)     { wrote[K](unsafe.Pointer(w)); w.v.Store(v) }
func (w *Int32[K]) Add(d int32) int32 { wrote[K](unsafe.Pointer(w)); return w.v.Add(d) }
func (w *Int32[K]) CompareAndSwap(from, to int32) bool {
	wrote[K](unsafe.Pointer(w))
	return w.v.CompareAndSwap(from, to)
}

// A Bool is an atomic.Bool that counts.
type Bool[K Kind] struct{ v atomic.Bool }

func (w *Bool[K]) Load() bool   { read[K](unsafe.Pointer(w)); return w.v.Load() }
func (w *Bool[K]) Store(v bool) { wrote[K](unsafe.Pointer(w)); w.v.Store(v) }
func (w *Bool[K]) CompareAndSwap(from, to bool) bool {
	wrote[K](unsafe.Pointer(w))
	return w.v.CompareAndSwap(from, to)
}

func (w *Bool[K]) Swap(v bool) bool { wrote[K](unsafe.Pointer(w)); return w.v.Swap(v) }

// A Mutex is a sync.Mutex that counts. A TryLock that fails only reads.
type Mutex[K Kind] struct{ mu sync.Mutex }

func (m *Mutex[K]) Lock()   { wrote[K](unsafe.Pointer(m)); m.mu.Lock() }
func (m *Mutex[K]) Unlock() { wrote[K](unsafe.Pointer(m)); m.mu.Unlock() }
func (m *Mutex[K]) TryLock() (locked bool) {
	if locked = m.mu.TryLock(); locked {
		wrote[K](unsafe.Pointer(m))
	} else {
		read[K](unsafe.Pointer(m))
	}
	return locked
}

// Passed counts a token that was sent or received as two writes, because the
// channel takes and releases its own lock.
func Passed[K Kind](c chan struct{}) {
	channel := *(*unsafe.Pointer)(unsafe.Pointer(&c))
	wrote[K](channel)
	wrote[K](channel)
}
