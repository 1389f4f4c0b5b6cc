package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// A prober measures how long a queue makes others wait while something is done
// to it. It calls the queue's methods with its own keys, a few in a row and
// then a pause, and measures the time of each call. No lock of the queue is
// held for longer than the longest call, if a call met the hold. A single hold
// that is shorter than the pause may have met none.
//
// A call is also long when the scheduler, the garbage collector or the machine
// has something else to do. So each call is also made on another queue of the
// same kind, at the same time and from the same goroutine, which no other
// goroutine uses. What that shows is not caused by the attacked queue.
type prober[T comparable] struct {
	queue, idle queue[T]
	keys        []T
	probe       probe[T]

	// others is of the queue under attack, floor of the idle one. They belong
	// to the prober until stop returns.
	others, floor *latencies

	begun    chan struct{}
	stopping atomic.Bool
	running  sync.WaitGroup
}

// probe calls some methods of a queue with a key, and records the time of each.
type probe[T comparable] func(q queue[T], key T, note *latencies)

const (
	// probesInARow is the number of keys that a prober tries between two
	// pauses.
	probesInARow = 16
	// probePause is a short sleep. The runtime makes it about a tenth of a
	// millisecond.
	probePause = time.Microsecond
)

// startProber returns when the first probe has been made.
func startProber[T comparable](queue, idle queue[T], keys []T, probe probe[T]) *prober[T] {
	p := &prober[T]{
		queue: queue, idle: idle, keys: keys, probe: probe,
		others: new(latencies), floor: new(latencies),
		begun: make(chan struct{}),
	}
	p.running.Go(p.run)
	<-p.begun
	return p
}

func (p *prober[T]) run() {
	for i := 0; !p.stopping.Load(); i++ {
		key := p.keys[i%len(p.keys)]
		p.probe(p.queue, key, p.others)
		p.probe(p.idle, key, p.floor)
		if i == 0 {
			close(p.begun)
		}
		if i%probesInARow == 0 {
			time.Sleep(probePause)
		}
	}
}

// stop waits until the prober has ended.
func (p *prober[T]) stop() {
	p.stopping.Store(true)
	p.running.Wait()
}

// probeAdd calls Add. It suits queues from which another goroutine takes.
func probeAdd[T comparable](q queue[T], key T, note *latencies) {
	watch := startWatch()
	q.Add(key)
	note.add(watch.lap())
}

// probeAddAfter calls AddAfter.
func probeAddAfter[T comparable](q queue[T], key T, note *latencies) {
	watch := startWatch()
	q.AddAfter(key, probeDelay)
	note.add(watch.lap())
}

// probeDelay is longer than the time that passes in any case before it is to
// pass.
const probeDelay = 24 * time.Hour

// probeCycle returns a probe that calls Add, Get and Done. It suits queues from
// which no other goroutine takes. The item need not be the one that was added,
// but there is one, so that no Get blocks. It is passed to take.
func probeCycle[T comparable](take func(item T)) probe[T] {
	return func(q queue[T], key T, note *latencies) {
		watch := startWatch()
		q.Add(key)
		note.add(watch.lap())
		item, _ := q.Get()
		note.add(watch.lap())
		q.Done(item)
		note.add(watch.lap())
		take(item)
	}
}
