package items

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
)

// A hashing maps the items of a table test to hashes. The table must work with
// any of them. These are chosen to be bad for a hash table.
type hashing struct {
	name string
	hash func(item uint32) uint32
	// most bounds the number of items, where more would be slow or large.
	most int
}

// mix is a bijection with the quality of a random hash (the finalizer of
// MurmurHash3).
func mix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	return x ^ x>>16
}

// skew puts three quarters of the items into a sixty-fourth of the range, so
// that deep segments have shallow neighbours.
func skew(item uint32) uint32 {
	if item%4 == 0 {
		return mix(item)
	}
	return mix(item) >> 6
}

var hashings = []hashing{
	{"random", mix, 3000},
	{"equal", func(uint32) uint32 { return 0xdeadbeef }, 400},
	{"equal top bits", func(item uint32) uint32 { return 0xabc<<20 | mix(item)>>12 }, 2000},
	{"equal low bits", func(item uint32) uint32 { return mix(item)&^0xffff | 0x1234 }, 900},
	{"in order", func(item uint32) uint32 { return item }, 700},
	{"in order from the top", func(item uint32) uint32 { return item << 19 }, 900},
	{"skewed", skew, 3000},
	{"few", func(item uint32) uint32 { return mix(item % 64) }, 1200},
	{"at the end", func(item uint32) uint32 { return mix(item) | 0x3ff }, 900},
}

// checkedTable is a table beside a naive model of it, a map. Each operation
// runs on both, and the test fails at the first difference.
type checkedTable struct {
	failer
	table   *Table
	hashing hashing
	ids     map[uint32]uint32 // of the items in the table
	taken   map[uint32]bool   // the ids in use
	// resets counts how often the table was replaced by a new one.
	resets int
}

func newTestTable() *Table {
	t := NewTable(TypeOf[uint32]())
	return &t
}

func newCheckedTable(t failer, h hashing) *checkedTable {
	return &checkedTable{
		failer: t, table: newTestTable(), hashing: h,
		ids: map[uint32]uint32{}, taken: map[uint32]bool{},
	}
}

// add inserts item if it is not in the table and there may be more.
func (c *checkedTable) add(item uint32) {
	c.Helper()
	p, absent := c.find(item)
	if !absent || len(c.ids) >= c.hashing.most {
		return
	}
	id, e := c.table.Insert(p, KeyOf(&item))
	switch {
	case id == 0 || c.taken[id]:
		c.Fatalf("item %d was given id %d, taken: %v", item, id, c.taken[id])
	case e != c.table.At(id) || *e != Entry{Hash: p.hash} || *Of[uint32](e) != item:
		c.Fatalf("the new entry of item %d is %+v", item, *e)
	}
	e.setPhase(Processing) // something for remove to forget
	e.Next = 12345
	c.ids[item], c.taken[id] = id, true
}

func (c *checkedTable) remove(item uint32) {
	c.Helper()
	if _, absent := c.find(item); absent {
		return
	}
	id := c.ids[item]
	delete(c.ids, item)
	delete(c.taken, id)
	c.table.Remove(id, c.table.At(id), Position{})
	if c.table.Live == 0 && c.table.HadEnough() { // as a shard does
		if len(c.ids) > 0 {
			c.Fatalf("the table would be given up with %d items in it", len(c.ids))
		}
		c.table = newTestTable()
		c.resets++
	}
}

// items returns the items of the table, in a fixed order.
func (c *checkedTable) items() []uint32 { return slices.Sorted(maps.Keys(c.ids)) }

// find looks item up and compares the outcome.
func (c *checkedTable) find(item uint32) (p Position, absent bool) {
	c.Helper()
	id, p := c.table.Find(c.hashing.hash(item), KeyOf(&item))
	if id != c.ids[item] {
		c.Fatalf("find(%d) = %d, not %d", item, id, c.ids[item])
	}
	return p, id == 0
}

func (c *checkedTable) check() {
	c.Helper()
	if int(c.table.Live) != len(c.ids) {
		c.Fatalf("live is %d, not %d", c.table.Live, len(c.ids))
	}
	checkTable(c, c.table, c.hashing.hash)
}

// TestTableAgainstModel runs random operations on the table and the model, with
// bursts that come and go, so that segments split and merge.
func TestTableAgainstModel(t *testing.T) {
	testscale.Rapid(100)
	for _, h := range hashings {
		t.Run(h.name, func(t *testing.T) { rapid.Check(t, h.againstModel) })
	}
}

// FuzzTable is the same with inputs of the fuzzer.
func FuzzTable(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { rapid.SampledFrom(hashings).Draw(t, "hashing").againstModel(t) }))
}

func (h hashing) againstModel(t *rapid.T) {
	c := newCheckedTable(t, h)
	t.Repeat(tableActions(c))
	for _, item := range c.items() {
		c.remove(item)
	}
	c.check()
}

func tableActions(c *checkedTable) map[string]func(*rapid.T) {
	items := rapid.Uint32Range(0, 5000)
	few := rapid.Uint32Range(0, 20)
	return map[string]func(*rapid.T){
		"":           func(*rapid.T) { c.check() },
		"add":        func(t *rapid.T) { c.add(few.Draw(t, "item")) },
		"remove":     func(t *rapid.T) { c.remove(few.Draw(t, "item")) },
		"find":       func(t *rapid.T) { c.find(items.Draw(t, "item")) },
		"add burst":  func(t *rapid.T) { c.burst(t, c.add) },
		"lose burst": func(t *rapid.T) { c.burst(t, c.remove) },
		"lose all but some": func(t *rapid.T) {
			kept := rapid.Uint32Range(2, 50).Draw(t, "kept")
			for _, item := range c.items() {
				if mix(item)%kept != 0 {
					c.remove(item)
				}
			}
		},
	}
}

// burst runs an operation on many items: an arithmetic progression, so that a
// failure shrinks to a few numbers.
func (c *checkedTable) burst(t *rapid.T, do func(item uint32)) {
	first := rapid.Uint32Range(0, 5000).Draw(t, "first")
	step := rapid.Uint32Range(1, 7).Draw(t, "step")
	n := rapid.Uint32Range(1, uint32(c.hashing.most)).Draw(t, "n")
	for i := range n {
		do((first + i*step) % 5000)
	}
}

// TestIndexGrowsAndShrinks follows an index up to thousands of segments and
// down again. The directory doubles and halves, and ends where it began.
func TestIndexGrowsAndShrinks(t *testing.T) {
	const items = 100_000
	c := newCheckedTable(t, hashing{"random", mix, items})
	deepest := uint8(0)
	for item := range uint32(items) {
		c.add(item)
		deepest = max(deepest, c.table.depth)
	}
	c.check()
	if deepest < 7 {
		t.Fatalf("%d items made the directory only %d bits deep", items, deepest)
	}
	for item := range uint32(items - 1) {
		c.remove(item)
	}
	c.check()
	if c.table.depth != 0 || len(c.table.directory) != 1 {
		t.Fatalf("one item is left in a directory of %d places", len(c.table.directory))
	}
	if slots := len(c.table.directory[0].slots); slots > largestSegment {
		t.Fatalf("one item is left in a segment of %d slots", slots)
	}
	if c.remove(items - 1); c.resets != 1 {
		t.Error("the table keeps its storage after a burst")
	}
}

// TestIndexMemoryFollowsLoad thins a large table out evenly, which makes no
// segment empty, and checks the slots per item.
func TestIndexMemoryFollowsLoad(t *testing.T) {
	const items = 64_000
	c := newCheckedTable(t, hashing{"random", mix, items})
	for item := range uint32(items) {
		c.add(item)
	}
	for _, kept := range []uint32{4, 16, 64, 256} {
		for item := range uint32(items) {
			if item%kept != 0 {
				c.remove(item)
			}
		}
		c.check()
		slots := 0
		for s := range segmentsOf(&c.table.index) {
			slots += len(s.slots)
		}
		// A segment that loses slots below an eighth of its size merges.
		if most := max(8*len(c.ids)*2, largestSegment); slots > most {
			t.Errorf("%d slots for %d items, want at most %d", slots, len(c.ids), most)
		}
	}
}

func segmentsOf(x *index) map[*segment]bool {
	segments := map[*segment]bool{}
	for _, s := range x.directory {
		segments[s] = true
	}
	return segments
}
