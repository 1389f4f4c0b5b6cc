package candidates

import (
	"fmt"
	"hash/maphash"
	"math"
	"runtime/debug"
	"testing"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// An index finds ids by hashes. These indexes grow and look up. They do not
// delete.
type index interface {
	insert(hash, id uint32)
	find(hash uint32) (id uint32)
	// moved is the largest number of slots that one insert moved.
	moved() int
	// size is in bytes.
	size() int
}

// slots is an open-addressing table with linear probing, at most three quarters
// full. Both designs consist of such tables.
type slots struct {
	slots []slot
	live  int
}

type slot struct{ hash, id uint32 }

func (s *slots) full() bool { return (s.live+1)*4 > len(s.slots)*3 }

func (s *slots) put(added slot) {
	mask := uint32(len(s.slots) - 1)
	i := added.hash & mask
	for s.slots[i].id != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = added
	s.live++
}

func (s *slots) find(hash uint32) (id uint32) {
	mask := uint32(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if found := s.slots[i]; found.id == 0 || found.hash == hash {
			return found.id
		}
	}
}

func (s *slots) double() {
	old := s.slots
	s.slots, s.live = make([]slot, 2*len(old)), 0
	for _, o := range old {
		if o.id != 0 {
			s.put(o)
		}
	}
}

// doubling is one table that doubles its size when it is full.
type doubling struct {
	slots
	most int
}

func newDoubling() index { return &doubling{slots: slots{slots: make([]slot, 8)}} }

func (d *doubling) insert(hash, id uint32) {
	if d.full() {
		d.most = d.live
		d.double()
	}
	d.put(slot{hash, id})
}

func (d *doubling) moved() int { return d.most }
func (d *doubling) size() int  { return 8 * len(d.slots.slots) }

// extendible is a directory of tables of at most 1024 slots, selected by the
// top bits of the hash. A full table splits. Package shard does this.
type extendible struct {
	directory []*segment
	depth     uint8
	most      int
	allocated int // slots
}

type segment struct {
	slots
	depth uint8
}

const largestSegment = 1024

func newExtendible() index {
	return &extendible{
		directory: []*segment{{slots: slots{slots: make([]slot, 8)}}},
		allocated: 8,
	}
}

func (x *extendible) prefix(hash uint32) uint32 { return uint32(uint64(hash) >> (32 - x.depth)) }

func (x *extendible) find(hash uint32) (id uint32) { return x.directory[x.prefix(hash)].find(hash) }

func (x *extendible) insert(hash, id uint32) {
	s := x.directory[x.prefix(hash)]
	moved := 0
	for s.full() {
		moved += s.live
		x.grow(s, hash)
		s = x.directory[x.prefix(hash)]
	}
	x.most = max(x.most, moved)
	s.put(slot{hash, id})
}

func (x *extendible) grow(s *segment, hash uint32) {
	if len(s.slots.slots) < largestSegment {
		x.allocated += len(s.slots.slots)
		s.double()
		return
	}
	if s.depth == x.depth {
		x.doubleDirectory()
	}
	x.split(s, hash)
	x.allocated += largestSegment
}

func (x *extendible) doubleDirectory() {
	doubled := make([]*segment, 0, 2*len(x.directory))
	for _, s := range x.directory {
		doubled = append(doubled, s, s)
	}
	x.directory = doubled
	x.depth++
}

func (x *extendible) split(s *segment, hash uint32) {
	depth := s.depth + 1
	halves := [2]*segment{}
	for i := range halves {
		halves[i] = &segment{slots: slots{slots: make([]slot, largestSegment)}, depth: depth}
	}
	for _, o := range s.slots.slots {
		if o.id != 0 {
			halves[o.hash>>(32-depth)&1].put(o)
		}
	}
	count := uint32(1) << (x.depth - s.depth)
	first := x.prefix(hash) &^ (count - 1)
	for i := range count {
		x.directory[first+i] = halves[2*i/count]
	}
}

func (x *extendible) moved() int { return x.most }
func (x *extendible) size() int  { return 8*x.allocated + 8*len(x.directory) }

// goMap is Go's own map, extendible hashing over tables of at most 1024 slots
// since Go 1.24. It reports neither its size nor what it moves.
type goMap map[uint32]uint32

func (m goMap) insert(hash, id uint32)       { m[hash] = id }
func (m goMap) find(hash uint32) (id uint32) { return m[hash] }
func (m goMap) moved() int                   { return -1 }
func (m goMap) size() int                    { return -1 }

func indexes() []struct {
	name string
	new  func() index
} {
	return []struct {
		name string
		new  func() index
	}{
		{"doubling", newDoubling},
		{"extendible", newExtendible},
		{"go-map", func() index { return goMap{} }},
	}
}

// BenchmarkIndex compares an index that splits with one that doubles, and with
// Go's map: the moved slots and the time of the slowest insert until there are
// that many items, and bytes per item. The time is the least of several such
// maxima, because the machine adds pauses of its own.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000, 800_000, 1_000_000} {
		hashes := hashes(n)
		for _, kind := range indexes() {
			b.Run(fmt.Sprintf("do=insert/items=%d/index=%s", n, kind.name), func(b *testing.B) {
				measureInserts(b, kind.new, hashes)
			})
		}
		for _, kind := range indexes() {
			b.Run(fmt.Sprintf("do=find/items=%d/index=%s", n, kind.name), func(b *testing.B) {
				measureFinds(b, kind.new(), hashes)
			})
		}
	}
}

// hashes returns n different hashes.
func hashes(n int) []uint32 {
	seed := maphash.MakeSeed()
	known := make(map[uint32]bool, n)
	for _, key := range workload.Integers(2 * n) {
		if len(known) < n {
			known[uint32(maphash.Comparable(seed, key))] = true
		}
	}
	all := make([]uint32, 0, n)
	for hash := range known {
		all = append(all, hash)
	}
	return all
}

func measureInserts(b *testing.B, newIndex func() index, hashes []uint32) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector's pauses are not part of the index
	slowest := time.Duration(math.MaxInt64)
	var x index
	for range b.N {
		x = newIndex()
		slowest = min(slowest, slowestInsert(x, hashes))
		b.StopTimer()
		workload.Collect()
		b.StartTimer()
	}
	b.ReportMetric(float64(slowest.Nanoseconds())/1000, "slowest-µs")
	b.ReportMetric(0, "ns/op") // means nothing here, and hides it
	if x.moved() >= 0 {
		b.ReportMetric(float64(x.moved()), "most-slots-moved")
		b.ReportMetric(float64(x.size())/float64(len(hashes)), "B/item")
	}
}

func slowestInsert(x index, hashes []uint32) (slowest time.Duration) {
	last := time.Now()
	for i, hash := range hashes {
		x.insert(hash, uint32(i+1))
		now := time.Now()
		slowest = max(slowest, now.Sub(last))
		last = now
	}
	return slowest
}

func measureFinds(b *testing.B, x index, hashes []uint32) {
	for i, hash := range hashes {
		x.insert(hash, uint32(i+1))
	}
	b.ResetTimer()
	var sum uint32
	for i := range b.N {
		sum += x.find(hashes[i*7919%len(hashes)]) // a prime step: no order that a cache could know
	}
	sink = uint64(sum)
}

// TestIndexesFind checks that an index loses nothing. Otherwise its
// speed would mean nothing.
func TestIndexesFind(t *testing.T) {
	hashes := hashes(20_000)
	for _, kind := range indexes() {
		t.Run(kind.name, func(t *testing.T) {
			x := kind.new()
			for i, hash := range hashes {
				x.insert(hash, uint32(i+1))
			}
			for i, hash := range hashes {
				if x.find(hash) != uint32(i+1) {
					t.Fatalf("hash %#x: found %d, want %d", hash, x.find(hash), i+1)
				}
			}
		})
	}
}
