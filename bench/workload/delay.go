package workload

import (
	"slices"
	"sync"
	"time"
)

// DelayedKeys are keys whose delays are so long that none expires.
type DelayedKeys struct {
	queue DelayingQueue
	keys  []string
	calls int
}

func NewDelayedKeys(q DelayingQueue, keys []string) *DelayedKeys {
	p := &DelayedKeys{queue: q, keys: Shuffled(keys)}
	p.Reschedule(len(keys))
	return p
}

// Reschedule delays one key after the other again, each time a second earlier.
func (p *DelayedKeys) Reschedule(calls int) {
	for range calls {
		position := p.calls % len(p.keys)
		p.queue.AddAfter(p.keys[position], delayOf(position, p.calls/len(p.keys)))
		p.calls++
	}
}

const farOff = 1000 * time.Hour

func delayOf(position, round int) time.Duration {
	const scatter = 2654435761 // Knuth's multiplicative hash (TAOCP 3, 6.4)
	share := uint32(position) * scatter
	return farOff + time.Duration(uint64(farOff)/(1<<32)*uint64(share)) - time.Duration(round)*time.Second
}

// DelayedCycle takes each key through AddAfter, its expiry, Get and Done.
func DelayedCycle(q DelayingQueue, keys []string, delays []time.Duration, workers int) time.Duration {
	var running, left sync.WaitGroup
	left.Add(len(keys))
	start := time.Now()
	for w := range workers {
		running.Go(func() {
			for i := w; i < len(keys); i += workers {
				q.AddAfter(keys[i], delays[i])
			}
		})
		running.Go(func() {
			take, one := takerOf(q), make([]string, 1)
			for take(one) != 0 {
				left.Done()
			}
		})
	}
	left.Wait()
	elapsed := time.Since(start)
	q.ShutDown()
	running.Wait()
	return elapsed
}

// Lateness returns, in increasing order, how long after its deadline each key
// is handed out to one consumer. It shuts the queue down.
func Lateness(q DelayingQueue, keys []string, delays []time.Duration) []time.Duration {
	deadlines := make(map[string]time.Time, len(keys))
	for i, key := range keys {
		deadlines[key] = time.Now().Add(delays[i])
		q.AddAfter(key, delays[i])
	}
	late := make([]time.Duration, len(keys))
	for i := range late {
		key, _ := q.Get()
		late[i] = time.Since(deadlines[key])
		q.Done(key)
	}
	q.ShutDown()
	slices.Sort(late)
	return late
}
