package shard

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

// TestShardFillsCacheLines: the locks of two shards must not share a line. On
// 64-bit platforms a shard fills whole lines. On 32-bit platforms it is smaller
// and not padded, so the end of one shard shares a line with the beginning of
// the next. There the test asserts that two locks are further apart than a
// line, and that what every call uses is not longer than one.
func TestShardFillsCacheLines(t *testing.T) {
	const line, pointer = unsafe.Sizeof(cacheLine{}), unsafe.Sizeof(uintptr(0))
	var sh shard
	size := unsafe.Sizeof(sh)
	if bits.UintSize == 32 {
		require.GreaterOrEqual(t, size, line)
		require.LessOrEqual(t, unsafe.Offsetof(sh.table)+pointer, line)
		return
	}
	require.Zero(t, size%line)
	require.Zero(t, unsafe.Sizeof(contents{})%line)
	// What every call writes is on the first line, what it only reads on the second.
	require.LessOrEqual(t, unsafe.Offsetof(sh.peak)+unsafe.Sizeof(sh.peak), line)
	require.LessOrEqual(t, line, unsafe.Offsetof(sh.table))
}

// TestHotWordsHaveLinesOfTheirOwn: what every Get writes, and what every Add
// reads, share a line neither with each other nor with anything else.
func TestHotWordsHaveLinesOfTheirOwn(t *testing.T) {
	const line = unsafe.Sizeof(cacheLine{})
	var s Set[string]
	coarse, parker := unsafe.Offsetof(s.Core.coarse), unsafe.Offsetof(s.Core.parker)
	if before := unsafe.Offsetof(s.Core.shards) + unsafe.Sizeof(s.Core.shards); coarse-before < line {
		t.Errorf("the coarse clock is %d bytes after what does not change", coarse-before)
	}
	if gap := parker - coarse; gap < line {
		t.Errorf("the parker is %d bytes after the coarse clock", gap)
	}
	if size := unsafe.Sizeof(lane{}); size != line {
		t.Errorf("a lane takes %d bytes", size)
	}
	if after := unsafe.Sizeof(*s.Core) - parker - unsafe.Sizeof(s.Core.parker); after < line {
		t.Errorf("the parker is %d bytes from the end", after)
	}
}

// TestNewSetIsSmall: programs have tens of thousands of queues (C25).
func TestNewSetIsSmall(t *testing.T) {
	const most = 8 << 10
	for _, shards := range []int{1, 8, 32, DefaultShards(128)} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			config := Config[string]{Settings: Settings{Shards: shards, Clock: clock.Real(), Tick: time.Millisecond}}
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
	s := newTestSet(t, Config[string]{Settings: Settings{Shards: 16, Clock: fake}})
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
	for processors, want := range map[int]int{1: 16, 2: 32, 3: 32, 4: 32, 8: 64, 12: 128, 64: 256, 128: 256} {
		if got := DefaultShards(processors); got != want {
			t.Errorf("%d shards for %d processors, want %d", got, processors, want)
		}
	}
}
