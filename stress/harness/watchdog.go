package harness

import (
	"fmt"
	"io"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

// watchdog checks that the round makes progress (C4), and measures the memory
// that it takes.
type watchdog struct {
	progress atomic.Uint64
	current  atomic.Pointer[round]
	peak     atomic.Uint64
	patience time.Duration
	idle     uint64 // the heap before the first round
}

// watch checks every half second until the channel is closed. If there was no
// progress for its patience, it calls onHang.
func (w *watchdog) watch(until <-chan struct{}, onHang func(*round)) {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	last, since := w.progress.Load(), time.Now()
	for {
		select {
		case <-until:
			return
		case <-ticker.C:
		}
		raise(&w.peak, liveHeap())
		switch n := w.progress.Load(); {
		case n != last || w.current.Load() == nil:
			last, since = n, time.Now()
		case time.Since(since) > w.patience:
			onHang(w.current.Load())
			return
		}
	}
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// explain writes a report about a hang: the clause, every goroutine, and then,
// if that does not hang too, the state of the queue and the records.
func (w *watchdog) explain(out io.Writer, r *round) {
	clause := "C4"
	if r.queue != nil && r.queue.ShuttingDown() {
		clause = "C12"
	}
	fmt.Fprintf(out, "%s violated: nothing has happened for %v\n", clause, w.patience)
	_ = pprof.Lookup("goroutine").WriteTo(out, 1)
	described := make(chan string, 1)
	go func() { described <- r.describe() }()
	select {
	case text := <-described:
		fmt.Fprintln(out, text)
	case <-time.After(5 * time.Second):
		fmt.Fprintln(out, r.plan, "\nthe queue does not even say its length")
	}
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	return text.String()
}
