package main

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	heapObjects = "/memory/classes/heap/objects:bytes"
	heapStacks  = "/memory/classes/heap/stacks:bytes"
	parked      = "/sched/goroutines/waiting:goroutines"
)

// read returns the value of a metric of the runtime.
func read(metric string) float64 {
	sample := []metrics.Sample{{Name: metric}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}

// liveHeap collects garbage and returns the bytes of the heap that are in use.
func liveHeap() float64 {
	runtime.GC() // twice: the second frees what finalizers and pools hold
	runtime.GC()
	return read(heapObjects)
}

// A peak watches the heap, and records its greatest size: the live objects, and
// those that no collection has freed yet.
type peak struct {
	highest float64
	end     sync.Once
	stopped chan struct{}
	running sync.WaitGroup
}

const peakInterval = 2 * time.Millisecond

func watchPeak() *peak {
	p := &peak{stopped: make(chan struct{})}
	p.running.Go(p.run)
	return p
}

func (p *peak) run() {
	ticker := time.NewTicker(peakInterval)
	defer ticker.Stop()
	for {
		p.measure()
		select {
		case <-p.stopped:
			return
		case <-ticker.C:
		}
	}
}

func (p *peak) measure() { p.highest = max(p.highest, read(heapObjects)) }

// stop measures a last time, and returns the greatest size in bytes. It may be
// called again.
func (p *peak) stop() float64 {
	p.end.Do(func() {
		close(p.stopped)
		p.running.Wait()
		p.measure()
	})
	return p.highest
}
