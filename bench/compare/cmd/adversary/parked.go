package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const parkedText = `A hundred thousand goroutines call Get of an empty queue. When all are parked,
as many different keys (uint64) are added. Each goroutine takes one, calls Done,
and ends. Then as many are parked again, and ShutDown is called. *Heap and
stack* are what a parked Get takes, beside a goroutine that waits for a channel
and does nothing else. *Calls of Add* are those that woke parked Gets: within
which time half and 99 % of them were over, and how long the longest took.`

func parkedGets(b *bench, t target) *figures {
	it := numbers(b.countAtLeast(leastMany, 100_000))
	s := parkedGoroutines{trial: newTrial(t, timeSource{}, timeSource{}, it), got: make([]uint64, len(it.keys)), limit: b.limit}
	defer s.idle.ShutDown()
	s.compare()
	goroutines := runtime.NumGoroutine()
	if !s.park() || !s.wakeByAdds() {
		return s.stop("until each had its item", b.limit)
	}
	s.highest(0)
	s.accountFor()
	s.returned()
	s.queue = newQueue[uint64](t, setup{})
	if !s.park() || !s.wakeByShutDown() {
		return s.stop("until all had gone", b.limit)
	}
	s.bounded("C14", "goroutines left after ShutDown", count, 0, goroutinesSince(goroutines))
	return s.figures
}

// parkedGoroutines are goroutines parked in Get, one for each item.
type parkedGoroutines struct {
	*trial[uint64]
	got       []uint64 // by goroutine
	shutDowns atomic.Int64
	running   sync.WaitGroup
	limit     time.Duration
}

// compare measures the cost of a goroutine that waits and does nothing else. It
// does so twice, because the first time the runtime makes goroutines that it
// keeps.
func (s *parkedGoroutines) compare() {
	gate := make(chan struct{})
	wait := func(int) { <-gate }
	s.start(wait)
	close(gate)
	s.running.Wait()
	gate = make(chan struct{})
	s.sleep("heap and stack of a goroutine that waits for a channel", wait)
	close(gate)
	s.running.Wait()
}

func (s *parkedGoroutines) start(work func(i int)) {
	for i := range s.got {
		s.running.Go(func() { work(i) })
	}
}

// sleep starts goroutines and waits until all of them are parked. It records
// the memory of each. It reports false if they are not parked in time.
func (s *parkedGoroutines) sleep(name string, work func(i int)) (elapsed time.Duration, ok bool) {
	heap, stacks := liveHeap(), read(heapStacks)
	already := read(parked)
	start := time.Now()
	s.start(work)
	for read(parked) < already+float64(len(s.got)-fewOfTheRuntime) {
		if time.Since(start) > s.limit {
			return 0, false
		}
		time.Sleep(time.Millisecond)
	}
	elapsed = time.Since(start)
	s.add(name, bytes, max(0, liveHeap()-heap+read(heapStacks)-stacks)/float64(len(s.got)))
	return elapsed, true
}

// fewOfTheRuntime is the number of goroutines of the runtime that may be
// waiting.
const fewOfTheRuntime = 4

func (s *parkedGoroutines) park() (ok bool) {
	elapsed, ok := s.sleep("heap and stack of a parked Get", s.getAndDone)
	s.each("to start a goroutine and park it, each", elapsed, len(s.got))
	return ok
}

func (s *parkedGoroutines) getAndDone(i int) {
	item, shutdown := s.queue.Get()
	if shutdown {
		s.shutDowns.Add(1)
		return
	}
	s.got[i] = item
	s.queue.Done(item)
}

// wakeByAdds adds an item for each parked Get.
func (s *parkedGoroutines) wakeByAdds() (ok bool) {
	start := time.Now()
	others := addEach(s.queue, s.items.keys)
	if !s.awaitEnd() {
		return false
	}
	s.took("from the first Add until each had its item", time.Since(start))
	s.calls("calls of Add", others)
	s.calls("the same where no Get is parked", addEach(s.idle, s.items.keys))
	s.taken = s.got
	return true
}

func addEach(q queue[uint64], keys []uint64) *latencies {
	note := new(latencies)
	for _, key := range keys {
		probeAdd(q, key, note)
	}
	return note
}

func (s *parkedGoroutines) wakeByShutDown() (ok bool) {
	start := time.Now()
	s.queue.ShutDown()
	s.took("ShutDown itself", time.Since(start))
	if !s.awaitEnd() {
		return false
	}
	s.took("from ShutDown until all had gone", time.Since(start))
	s.bounded("C10", "Gets that did not report the shutdown", count, 0, float64(len(s.got))-float64(s.shutDowns.Load()))
	return true
}

// awaitEnd waits until all goroutines have ended. It reports false if they take
// too long.
func (s *parkedGoroutines) awaitEnd() (ok bool) {
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(s.limit):
		return false
	}
}

// goroutinesSince returns the number of goroutines beyond before. It waits a
// moment for those that are about to end.
func goroutinesSince(before int) float64 {
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return float64(max(0, runtime.NumGoroutine()-before))
}
