package shard

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// processorTime returns how long this thread has run. Unlike the time of day,
// it stands still while another thread has the processor.
func processorTime() time.Duration {
	const clockThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(t.Nano())
}

// BenchmarkHolds measures how long inspections hold the lock of a shard with 1M
// items (50k with -short), by the number of their groups and priorities. It
// measures processor time, so that other load has no effect. Half of the items
// are ready, a quarter is in processing and a quarter is delayed. For each
// inspection it reports:
//
//   - hold-µs, the median of the longest holds of b.N inspections, and worst-µs
//     the longest;
//   - holds, the number of holds of an inspection;
//   - inspect-ms, the processor time of an inspection, and B/op what it
//     allocates.
func BenchmarkHolds(b *testing.B) {
	items, most := 1_000_000, 300_000
	if testing.Short() {
		items, most = 50_000, 15_000
	}
	for _, groups := range []int{0, 1000, items} {
		for _, priorities := range []int{0, 1000, most} {
			b.Run(fmt.Sprintf("items=%d/groups=%d/priorities=%d", items, groups, priorities), func(b *testing.B) {
				benchmarkHolds(b, items, items/2, items/4, groups, priorities)
			})
		}
	}
	b.Run(fmt.Sprintf("items=%d/groups=%[1]d/all=delayed", items), func(b *testing.B) {
		benchmarkHolds(b, items, 0, 0, items, 0)
	})
}

func benchmarkHolds(b *testing.B, items, ready, inProcessing, groups, priorities int) {
	config := Config[int]{Ages: true, Metrics: true}
	if groups > 0 {
		names := make([]string, groups)
		for i := range names {
			names[i] = fmt.Sprint("group ", i)
		}
		config.Group = func(item int) string { return names[item%groups] }
	}
	s := largeSet(b, config, items, ready, inProcessing, priorities)
	for name, inspect := range inNameOrder(inspections(s)) {
		b.Run("inspect="+name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b.ReportAllocs()
			var longest []time.Duration
			holds, took := 0, time.Duration(0)
			b.ResetTimer()
			for range b.N {
				longest = append(longest, 0)
				s.probe = &probe{after: idly, hold: func(part func() (visited int, more bool)) (more bool) {
					begin := processorTime()
					_, more = part()
					longest[len(longest)-1] = max(longest[len(longest)-1], processorTime()-begin)
					holds++
					return more
				}}
				begin := processorTime()
				inspect()
				took += processorTime() - begin
			}
			s.probe = nil
			slices.Sort(longest)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(longest[b.N/2].Nanoseconds())/1000, "hold-µs")
			b.ReportMetric(float64(longest[b.N-1].Nanoseconds())/1000, "worst-µs")
			b.ReportMetric(float64(holds)/float64(b.N), "holds")
			b.ReportMetric(took.Seconds()*1000/float64(b.N), "inspect-ms")
		})
	}
}
