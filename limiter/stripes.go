package limiter

import (
	"math/bits"
	"runtime"
)

// stripes are the parts of one hash table that are used independently: two items
// contend only if they fall into one stripe and are used within the same few
// nanoseconds. They are a power of two in number; the top bits of an item's hash
// choose one.
//
// A concurrent map with lock-free reads was measured in their place. It makes
// When of a known item faster, but a first failure and its Forget slower than a
// single lock around a map: it has to allocate for each.
type stripes[T comparable] struct {
	shift int
	all   []stripe[T]
	_     [32]byte // a cache line that is only read: every call needs it
}

// Their number grows with the processors that may use them at once. Each is a
// cache line, and four slots more once it is used.
const (
	stripesPerProcessor = 64
	maxStripes          = 512
)

func newStripes[T comparable]() *stripes[T] {
	wanted := min(stripesPerProcessor*runtime.GOMAXPROCS(0), maxStripes)
	log := bits.Len(uint(wanted - 1))
	return &stripes[T]{shift: 64 - log, all: make([]stripe[T], 1<<log)}
}

func (s *stripes[T]) of(hash uint64) *stripe[T] { return &s.all[hash>>s.shift] }
