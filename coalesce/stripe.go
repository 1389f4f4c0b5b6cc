package coalesce

import (
	"maps"
	"math/bits"
	"runtime"
	"sync"

	"github.com/shardq/shardq/stats"
)

// A stripes is a hash table of lines. The top bits of a hash choose the stripe.
type stripes[K comparable, V any] struct {
	shift uint // less than 64
	all   []stripe[K, V]
}

// init makes more stripes for more processors, which may use them at once.
func (s *stripes[K, V]) init() {
	log := bits.Len(uint(min(64*runtime.GOMAXPROCS(0), 512) - 1))
	s.shift, s.all = 64-uint(log), make([]stripe[K, V], 1<<log)
}

func (s *stripes[K, V]) of(hash uint64) *stripe[K, V] { return &s.all[hash>>(s.shift&63)] }

func (s *stripes[K, V]) count() (v stats.Values) {
	for i := range s.all {
		stripe := &s.all[i]
		stripe.mu.Lock()
		v.Keys += len(stripe.lines) - int(stripe.hollow)
		v.Lingering += int(stripe.lingering)
		v.Put += stripe.put
		v.Merged += stripe.merged
		stripe.mu.Unlock()
	}
	return v
}

func (s *stripes[K, V]) empty() bool { return s.count().Keys == 0 }

// A stripe is a cache line long.
type stripe[K comparable, V any] struct {
	mu     sync.Mutex // guards the fields below; no user code runs under it
	closed bool       // accepts no more values
	spares uint8      // the number of unused lines
	hollow uint16     // the number of lines without values: see teller
	// admitted counts the calls that found the stripe open, and may still add
	// their keys to the queue.
	admitted    int32
	lingering   int32 // the number of lines in that state
	peak        int32 // the most lines since the map was made, but at least smallMap
	lines       map[K]*line[V]
	unused      *[maxSpares]*line[V]
	extras      *extras[K, V]
	put, merged uint64 // values that were put, and merges of two
}

// A Go map never shrinks. A map that had more than smallMap entries is replaced when less
// than an eighth of its peak is left. By then many more were removed than are copied.
const (
	smallMap  = 16
	maxSpares = 16
)

// lineLocked returns a line for a value of the key, whose line is l.
func (s *stripe[K, V]) lineLocked(key K, l *line[V]) *line[V] {
	if l == nil {
		return s.insertLocked(key)
	}
	if l.first == nil {
		s.hollow--
	}
	return l
}

func (s *stripe[K, V]) insertLocked(key K) *line[V] {
	if s.lines == nil {
		s.lines, s.peak = make(map[K]*line[V]), smallMap
	}
	l := (*line[V])(nil)
	if s.spares == 0 {
		l = new(line[V])
	} else {
		s.spares--
		l = s.unused[s.spares]
	}
	s.lines[key] = l
	s.peak = max(s.peak, int32(len(s.lines)))
	return l
}

func (s *stripe[K, V]) setStateLocked(l *line[V], state keyState) {
	if l.key == lingering {
		s.lingering--
	}
	if state == lingering {
		s.lingering++
	}
	l.key = state
}

func (s *stripe[K, V]) removeLocked(key K, l *line[V]) {
	delete(s.lines, key)
	if l.key == lingering {
		s.lingering--
	}
	*l = line[V]{}
	if s.spares < maxSpares {
		if s.unused == nil {
			s.unused = new([maxSpares]*line[V])
		}
		s.unused[s.spares] = l
		s.spares++
	}
	if isSparse(len(s.lines), s.peak) {
		s.lines, s.peak = smaller(s.lines)
		s.unused, s.spares = nil, 0
	}
}

func isSparse(entries int, peak int32) bool { return peak > smallMap && entries < int(peak)/8 }

func smaller[K comparable, E any](large map[K]E) (small map[K]E, peak int32) {
	small = make(map[K]E, len(large))
	maps.Copy(small, large)
	return small, max(smallMap, int32(len(small)))
}
