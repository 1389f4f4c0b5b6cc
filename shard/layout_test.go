package shard

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/shardq/shardq/clock"
)

type objectKey struct{ Namespace, Name string }

// TestShardFillsCacheLines: the locks of two shards must not share a line. On
// 64-bit platforms a shard fills whole lines. On 32-bit platforms it is smaller
// and not padded, so the end of one shard shares a line with the beginning of
// the next. There the test asserts that two locks are further apart than a
// line, and that what every call uses is not longer than one.
func TestShardFillsCacheLines(t *testing.T) {
	t.Run("string", checkShardLayout[string])
	t.Run("uint64", checkShardLayout[uint64])
	t.Run("byte", checkShardLayout[byte])
	t.Run("struct{}", checkShardLayout[struct{}])
	t.Run("any", checkShardLayout[any])
	t.Run("request", checkShardLayout[objectKey])
	t.Run("[100]int", checkShardLayout[[100]int])
}

func checkShardLayout[T comparable](t *testing.T) {
	const line = unsafe.Sizeof(cacheLine{})
	var sh shard[T]
	if bits.UintSize == 32 {
		if size := unsafe.Sizeof(sh); size < line {
			t.Errorf("a shard takes %d bytes, less than a line", size)
		}
		if end := unsafe.Offsetof(sh.table) + unsafe.Sizeof(sh.table); end > line {
			t.Errorf("what every call uses ends at byte %d", end)
		}
		return
	}
	if size := unsafe.Sizeof(sh); size%line != 0 {
		t.Errorf("a shard takes %d bytes, %d beyond the last line", size, size%line)
	}
	if size := unsafe.Sizeof(table[T]{}); size%line != 0 {
		t.Errorf("a table takes %d bytes, %d beyond the last line", size, size%line)
	}
	// The allocator puts a header of 8 bytes before an array of 512 to 32 Ki
	// bytes that has pointers in it. The last 8 bytes of a shard are then on
	// the first line of the next.
	if end := unsafe.Offsetof(sh.set) + unsafe.Sizeof(sh.set); end > unsafe.Sizeof(sh)-8 {
		t.Errorf("a field in use ends at byte %d of %d", end, unsafe.Sizeof(sh))
	}
	// Therefore what every call writes is on one line with a header and
	// without. What it only reads begins there.
	if end := unsafe.Offsetof(sh.owes) + unsafe.Sizeof(sh.owes); end > line-8 {
		t.Errorf("what every call writes ends at byte %d", end)
	}
	if end := unsafe.Offsetof(sh.table) + unsafe.Sizeof(sh.table); end > line {
		t.Errorf("what every call uses first ends at byte %d", end)
	}
}

// TestEntrySizes: what an item costs. The documentation has the sizes on 64-bit
// platforms.
func TestEntrySizes(t *testing.T) {
	for _, test := range []struct {
		name               string
		got                uintptr
		want, wantOn32Bits uintptr
	}{
		{"entry[string]", unsafe.Sizeof(entry[string]{}), 32, 24},
		{"entry[uint64]", unsafe.Sizeof(entry[uint64]{}), 24, 24},
		{"entry[request]", unsafe.Sizeof(entry[objectKey]{}), 48, 32},
		{"slot", unsafe.Sizeof(slot(0)), 4, 4},
	} {
		want := test.want
		if bits.UintSize == 32 {
			want = test.wantOn32Bits
		}
		if test.got != want {
			t.Errorf("%s takes %d bytes, not %d", test.name, test.got, want)
		}
	}
}

// TestHotWordsHaveLinesOfTheirOwn: what every Get writes, and what every Add
// reads, share a line neither with each other nor with anything else.
func TestHotWordsHaveLinesOfTheirOwn(t *testing.T) {
	const line = unsafe.Sizeof(cacheLine{})
	var s Set[string]
	coarse, parker := unsafe.Offsetof(s.coarse), unsafe.Offsetof(s.parker)
	if before := unsafe.Offsetof(s.laneShift) + unsafe.Sizeof(s.laneShift); coarse-before < line {
		t.Errorf("the coarse clock is %d bytes after what does not change", coarse-before)
	}
	if gap := parker - coarse; gap < line {
		t.Errorf("the parker is %d bytes after the coarse clock", gap)
	}
	if size := unsafe.Sizeof(lane{}); size != line {
		t.Errorf("a lane takes %d bytes", size)
	}
	if size := unsafe.Sizeof(readyRow{}); size != line {
		t.Errorf("a row of ready bits takes %d bytes", size)
	}
	if after := unsafe.Sizeof(s) - parker - unsafe.Sizeof(s.parker); after < line {
		t.Errorf("the parker is %d bytes from the end", after)
	}
}

// TestNewSetIsSmall: programs have tens of thousands of queues (C25).
func TestNewSetIsSmall(t *testing.T) {
	const most = 8 << 10
	for _, shards := range []int{1, 8, 32, defaultShards(128)} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			config := Config[string]{Shards: shards, Clock: clock.Real(), Tick: time.Millisecond}
			if n := allocated(func() { newSink = New(config) }); n > most {
				t.Errorf("a new set of %d shards allocates %d bytes, more than %d", shards, n, most)
			}
		})
	}
}

var newSink *Set[string]

// allocated returns the bytes that f allocates. Other allocations of the
// process can only add to that.
func allocated(f func()) uint64 {
	var least []uint64
	for range 5 {
		const runs = 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		least = append(least, (after.TotalAlloc-before.TotalAlloc)/runs)
	}
	return slices.Min(least)
}

// TestNewSetStartsNothing: there is no goroutine and no timer, also with items
// that are not delayed.
func TestNewSetStartsNothing(t *testing.T) {
	fake := clock.NewFake(start)
	before := runtime.NumGoroutine()
	s := newTestSet(t, Config[string]{Shards: 16, Clock: fake})
	s.Add("a")
	item, _ := s.Get()
	s.Done(item)
	s.AddAfter("b", 0)
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines more than before", n-before)
	}
	if n := fake.Timers(); n > 0 {
		t.Errorf("%d timers are set", n)
	}
	s.AddAfter("c", time.Hour)
	if n, timers := runtime.NumGoroutine(), fake.Timers(); n > before || timers != 1 {
		t.Errorf("with a delayed item: %d goroutines more, %d timers", n-before, timers)
	}
}

// TestDefaultShards: the numbers of shards on machines of several sizes.
func TestDefaultShards(t *testing.T) {
	for processors, want := range map[int]int{1: 16, 2: 32, 3: 32, 8: 32, 12: 64, 64: 256, 128: 256} {
		if got := defaultShards(processors); got != want {
			t.Errorf("%d shards for %d processors, want %d", got, processors, want)
		}
	}
}
