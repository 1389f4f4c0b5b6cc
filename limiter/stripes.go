package limiter

import (
	"math/bits"
	"runtime"
)

// stripes are the independent parts of one hash table. Two items contend only
// if they fall into one stripe and are used within the same few nanoseconds.
// The number of stripes is a power of two, and the top bits of an item's hash
// choose one.
//
// A concurrent map with lock-free reads is faster for items with a history, but
// slower for a first failure and its Forget, for which it allocates. Expiry
// would need a second structure to sweep. See
// docs/decisions/0011-limiter-state.md.
type stripes[T comparable] struct {
	shift uint // less than 64, which the mask in of shows to the compiler
	all   []stripe[T]
	_     [32]byte // fills the cache line: every call reads it, so no word on it may be written
}

// The number of stripes grows with the number of processors. Each stripe is a
// cache line, and has a table once it has two histories.
const (
	stripesPerProcessor = 64
	maxStripes          = 512
)

func newStripes[T comparable]() *stripes[T] {
	wanted := min(stripesPerProcessor*runtime.GOMAXPROCS(0), maxStripes)
	log := bits.Len(uint(wanted - 1))
	return &stripes[T]{shift: 64 - uint(log), all: make([]stripe[T], 1<<log)}
}

func (s *stripes[T]) of(hash uint64) *stripe[T] { return &s.all[hash>>(s.shift&63)] }
