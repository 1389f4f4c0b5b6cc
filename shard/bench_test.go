package shard

import (
	"fmt"
	"hash/maphash"
	"testing"
)

// Kinds of keys that programs have.
func stringKey(i int) string { return fmt.Sprintf("namespace-%04d/pod-%011d", i%100, i) } // 30 bytes
func numberKey(i int) uint64 { return uint64(i) }
func requestKey(i int) objectKey {
	return objectKey{fmt.Sprint("namespace-", i%100), fmt.Sprintf("pod-%011d", i)}
}

var populations = []int{1 << 10, 64 << 10, 1 << 20}

// BenchmarkSets compares two designs for the sets of one item on its way
// through Add, Get and Done, among other items. The fused table needs two
// look-ups by hash and one by id. Two Go maps, as client-go has them, need
// seven operations. The queue and the lock, which both need, are left out.
func BenchmarkSets(b *testing.B) {
	for _, items := range populations {
		benchmarkSets(b, "string", items, stringKey)
		benchmarkSets(b, "uint64", items, numberKey)
		benchmarkSets(b, "request", items, requestKey)
	}
}

func benchmarkSets[T comparable](b *testing.B, kind string, items int, key func(i int) T) {
	b.Run(fmt.Sprintf("keys=%s/items=%d/sets=fused", kind, items), func(b *testing.B) {
		f := &fusedSets[T]{table: newTable[T](), seed: maphash.MakeSeed(), ids: make([]uint32, items+1)}
		cycleThrough(b, items, key, f.add, f.getAndDone)
	})
	b.Run(fmt.Sprintf("keys=%s/items=%d/sets=maps", kind, items), func(b *testing.B) {
		m := &mapSets[T]{dirty: map[T]struct{}{}, processing: map[T]struct{}{}}
		cycleThrough(b, items, key, m.add, m.getAndDone)
	})
}

// cycleThrough keeps a number of ready items. Each cycle adds one and takes the
// oldest through Get and Done.
func cycleThrough[T comparable](b *testing.B, items int, key func(i int) T, add, getAndDone func(T)) {
	keys := make([]T, 2*items)
	for i := range keys {
		keys[i] = key(i)
	}
	for i := range items {
		add(keys[i])
	}
	b.ReportAllocs()
	oldest, newest := 0, items
	for b.Loop() {
		add(keys[newest])
		getAndDone(keys[oldest])
		newest, oldest = next(newest, keys), next(oldest, keys)
	}
}

func next[T any](i int, all []T) int {
	if i++; i == len(all) {
		return 0
	}
	return i
}

// fusedSets is one table. The ids stand for the FIFO: a Get needs no look-up.
type fusedSets[T comparable] struct {
	table        *table[T]
	seed         maphash.Seed
	ids          []uint32
	oldest, free int
}

func (f *fusedSets[T]) add(item T) {
	hash := uint32(maphash.Comparable(f.seed, item))
	id, p := f.table.find(hash, item)
	if id == 0 {
		var e *entry[T]
		id, e = f.table.insert(p, item)
		e.step(added)
	}
	f.ids[f.free] = id
	f.free = next(f.free, f.ids)
}

func (f *fusedSets[T]) getAndDone(item T) {
	if f.table.at(f.ids[f.oldest]).step(taken) != handOut {
		panic("not ready")
	}
	f.oldest = next(f.oldest, f.ids)
	hash := uint32(maphash.Comparable(f.seed, item))
	if id, _ := f.table.find(hash, item); f.table.at(id).step(finished) == retire {
		f.table.remove(id, f.table.at(id), position{})
	}
}

// mapSets does the operations of client-go's Add, Get and Done on its sets.
type mapSets[T comparable] struct{ dirty, processing map[T]struct{} }

func (m *mapSets[T]) add(item T) {
	if _, has := m.dirty[item]; has {
		return
	}
	m.dirty[item] = struct{}{}
	if _, has := m.processing[item]; has {
		return
	}
}

func (m *mapSets[T]) getAndDone(item T) {
	m.processing[item] = struct{}{}
	delete(m.dirty, item)

	delete(m.processing, item)
	if _, has := m.dirty[item]; has {
		panic("dirty")
	}
}

// BenchmarkTableFind looks up items that are there, in no order.
func BenchmarkTableFind(b *testing.B) {
	for _, items := range populations {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			table, keys := filledTable(items)
			i := uint32(0)
			for b.Loop() {
				item := keys[mix(i)%uint32(items)]
				if id, _ := table.find(mix(uint32(item)), item); id == 0 {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}

// BenchmarkTableInsertRemove adds one item and removes the oldest, with a
// constant number of items.
func BenchmarkTableInsertRemove(b *testing.B) {
	for _, items := range populations {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			table, _ := filledTable(items)
			b.ReportAllocs()
			newest := uint64(items)
			for b.Loop() {
				_, p := table.find(mix(uint32(newest)), newest)
				table.insert(p, newest)
				oldest := newest - uint64(items)
				id, _ := table.find(mix(uint32(oldest)), oldest)
				table.remove(id, table.at(id), position{})
				newest++
			}
		})
	}
}

func filledTable(items int) (t *table[uint64], keys []uint64) {
	t = newTable[uint64]()
	for item := range uint64(items) {
		_, p := t.find(mix(uint32(item)), item)
		t.insert(p, item)
		keys = append(keys, item)
	}
	return t, keys
}

// BenchmarkTablePeak fills a table and empties it, which includes growing and
// shrinking.
func BenchmarkTablePeak(b *testing.B) {
	for _, items := range populations {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t, keys := filledTable(items)
				for _, item := range keys {
					id, _ := t.find(mix(uint32(item)), item)
					t.remove(id, t.at(id), position{})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*items), "ns/item")
		})
	}
}

// BenchmarkHash measures what an operation spends before it reaches its shard.
func BenchmarkHash(b *testing.B) {
	benchmarkHash(b, "string", stringKey(1))
	benchmarkHash(b, "uint64", numberKey(1))
	benchmarkHash(b, "request", requestKey(1))
	benchmarkHash[any](b, "any", stringKey(1))
	benchmarkHash(b, "float64", 1.5)
}

func benchmarkHash[T comparable](b *testing.B, kind string, item T) {
	s := newTestSet(b, Config[T]{Shards: 16})
	b.Run("keys="+kind+"/hash=seeded", func(b *testing.B) {
		for b.Loop() {
			hashSink += s.hash(item)
		}
	})
	b.Run("keys="+kind+"/reject", func(b *testing.B) {
		for b.Loop() {
			if s.Reject(item) {
				b.Fatal("rejected")
			}
		}
	})
	route, err := StableRoute[T]()
	if err != nil {
		return
	}
	b.Run("keys="+kind+"/hash=stable", func(b *testing.B) {
		for b.Loop() {
			hashSink += route(item)
		}
	})
}

// BenchmarkCycle measures Add, Get and Done in one goroutine, or Add, TryTake
// and End.
func BenchmarkCycle(b *testing.B) {
	for _, shards := range []int{1, 16} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			s := newTestSet(b, Config[string]{Shards: shards})
			keys := make([]string, 1024)
			for i := range keys {
				keys[i] = stringKey(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Add(keys[i%len(keys)])
				item, _ := s.Get()
				s.Done(item)
			}
		})
		b.Run(fmt.Sprintf("shards=%d/claims", shards), func(b *testing.B) {
			s := newTestSet(b, Config[string]{Shards: shards})
			keys := make([]string, 1024)
			for i := range keys {
				keys[i] = stringKey(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Add(keys[i%len(keys)])
				_, _, h, _ := s.TryTake()
				s.End(h)
			}
		})
	}
}
