package shardq

import (
	"math/bits"
	"runtime"
	"sync"
)

// coalescerStripes are the parts of a hash table that are locked independently. The top bits
// of a key's hash choose one.
type coalescerStripes[K comparable, V any] struct {
	shift uint // less than 64
	all   []coalescerStripe[K, V]
}

// Their number grows with the processors that may use them at once.
const (
	stripesPerProcessor = 64
	maxStripes          = 512
)

func (s *coalescerStripes[K, V]) init() {
	wanted := min(stripesPerProcessor*runtime.GOMAXPROCS(0), maxStripes)
	log := bits.Len(uint(wanted - 1))
	s.shift, s.all = 64-uint(log), make([]coalescerStripe[K, V], 1<<log)
}

func (s *coalescerStripes[K, V]) of(hash uint64) *coalescerStripe[K, V] {
	return &s.all[hash>>(s.shift&63)]
}

// count adds up what the stripes count.
func (s *coalescerStripes[K, V]) count() (v Values) {
	for i := range s.all {
		stripe := &s.all[i]
		stripe.mu.Lock()
		v.Keys += len(stripe.entries)
		v.Put += stripe.put
		v.Merged += stripe.merged
		stripe.mu.Unlock()
	}
	return v
}

// empty reports whether there are no entries.
func (s *coalescerStripes[K, V]) empty() bool {
	for i := range s.all {
		stripe := &s.all[i]
		stripe.mu.Lock()
		n := len(stripe.entries)
		stripe.mu.Unlock()
		if n > 0 {
			return false
		}
	}
	return true
}

// keys counts the entries.
func (s *coalescerStripes[K, V]) keys() (n int) {
	for i := range s.all {
		stripe := &s.all[i]
		stripe.mu.Lock()
		n += len(stripe.entries)
		stripe.mu.Unlock()
	}
	return n
}

// A coalescerStripe holds the entries of the keys whose hashes share their top bits. It is a
// cache line long.
type coalescerStripe[K comparable, V any] struct {
	mu      sync.Mutex // guards the fields below; only this package's code runs under it
	closed  bool       // nothing is taken in any more
	passing int32      // calls that were let in, and may still add to the queue
	spares  int32
	entries map[K]*entry[V]
	spare   *entry[V] // entries that are not in use
	// peak is the greatest number of entries since the map was made, or its smallest size.
	peak int
	// put counts the values that were taken in by a Put, and merged those that found another.
	put, merged uint64
}

// A map of Go's keeps its largest size. One that has grown beyond smallMap entries is replaced
// when an eighth of the largest number is left: by then as many have come and gone as it
// takes to copy the rest many times.
const (
	smallMap  = 16
	maxSpares = 16
)

// insertLocked returns a new entry for a key that has none.
func (s *coalescerStripe[K, V]) insertLocked(key K) *entry[V] {
	if s.entries == nil {
		s.entries = make(map[K]*entry[V])
		s.peak = smallMap
	}
	e := s.spare
	if e == nil {
		e = new(entry[V])
	} else {
		s.spare, e.spare = e.spare, nil
		s.spares--
	}
	s.entries[key] = e
	s.peak = max(s.peak, len(s.entries))
	return e
}

// removeLocked removes an entry whose parts are taken.
func (s *coalescerStripe[K, V]) removeLocked(key K, e *entry[V]) {
	delete(s.entries, key)
	*e = entry[V]{}
	if s.spares < maxSpares {
		e.spare, s.spare = s.spare, e
		s.spares++
	}
	if s.peak > smallMap && len(s.entries) < s.peak/8 {
		s.shrinkLocked()
	}
}

// shrinkLocked gives back what a burst needed.
func (s *coalescerStripe[K, V]) shrinkLocked() {
	smaller := make(map[K]*entry[V], len(s.entries))
	for key, e := range s.entries {
		smaller[key] = e
	}
	s.entries, s.peak = smaller, max(smallMap, len(smaller))
	s.spare, s.spares = nil, 0
}
