package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A write is a value on its way into the database.
type write struct {
	key string
	value
}

// maxBatch bounds the writes of one transaction, and those that wait for it. A
// larger one makes a write cheaper and an event wait longer.
const maxBatch = 4096

// writing is the second part of the pipeline: from the queue to the database.
//
// Workers take keys and their values from the queue and hand them to one
// committer, as the database has one writer. While a transaction is under way the
// next one's writes gather, so it is as large as the load asks for. The keys stay
// in processing all the time, and the committer calls Done for them.
type writing struct {
	*stage
	sink      *sink
	writes    chan write
	workers   sync.WaitGroup
	committer sync.WaitGroup

	// The committer's, until it has ended.
	result   written
	failures int // transactions that failed
}

// written is what became of the writes.
type written struct {
	writes  uint64 // that succeeded
	retries uint64
	lost    tally // events whose writes failed for good
	delays  *hdrhistogram.Histogram
	slowest time.Duration
}

// maxDelay is the longest delay from event to commit that the histogram tells
// from a longer one.
const maxDelay = time.Hour

func newDelays() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(maxDelay), 3)
}

func (w *writing) start() {
	w.writes = make(chan write, maxBatch)
	w.result.delays = newDelays()
	for range w.config.workers {
		w.workers.Go(w.work)
	}
	w.committer.Go(w.commitAll)
}

// finish waits until every value is in the database or given up, and ends the
// workers. The readers must have ended. Only then is it time for the queue's
// drain: a drain drops the keys that wait for a retry.
func (w *writing) finish() written {
	w.pending.seal()
	<-w.pending.settled
	w.queue.ShutDownWithDrain()
	w.workers.Wait()
	close(w.writes)
	w.committer.Wait()
	return w.result
}

// work hands the values of keys to the committer until the queue is shut down.
func (w *writing) work() {
	for {
		key, shutdown := w.queue.Get()
		if shutdown {
			return
		}
		if value, ok := w.pending.take(key); ok {
			w.writes <- write{key, value}
		} else {
			w.queue.Done(key)
		}
	}
}

// commitAll commits batch after batch until there are no more writes.
func (w *writing) commitAll() {
	failures := rand.New(rand.NewPCG(w.config.seed, 0))
	batch := make([]write, 0, maxBatch)
	for {
		batch = w.gather(batch[:0])
		if len(batch) == 0 {
			return
		}
		w.progress.sampleDepth(w.queue)
		good := chooseFailures(batch, w.config.fail, failures)
		w.commit(batch, good)
	}
}

// gather waits for a write, and appends it to batch with those that are there
// already. The result is empty when there are no more.
func (w *writing) gather(batch []write) []write {
	next, more := <-w.writes
	for more {
		batch = append(batch, next)
		if len(batch) == maxBatch {
			break
		}
		select {
		case next, more = <-w.writes:
		default:
			return batch
		}
	}
	return batch
}

// chooseFailures moves the writes that are to fail to the end of the batch, and
// returns how many are not.
func chooseFailures(batch []write, share float64, random *rand.Rand) int {
	good := len(batch)
	for i := 0; share > 0 && i < good; {
		if random.Float64() >= share {
			i++
			continue
		}
		good--
		batch[i], batch[good] = batch[good], batch[i]
	}
	return good
}

// commit writes the first good writes of the batch in one transaction, and lets
// the others fail.
func (w *writing) commit(batch []write, good int) {
	if err := w.sink.commit(batch[:good]); err != nil {
		w.complain(good, err)
		good = 0
	}
	now := time.Since(w.pending.start)
	for _, done := range batch[:good] {
		w.succeeded(done, now)
	}
	ended := good
	for _, failed := range batch[good:] {
		if !w.retry(failed) {
			ended++
		}
	}
	// After the Dones. A key can be dirty while its value is written, by a
	// retry that a newer event has overtaken, and then its Done makes it ready.
	// Were the values settled first, finish could begin the drain before that
	// Done, the workers could find nothing ready and end, and the drain would
	// wait for ever for somebody to take the key.
	w.pending.settle(ended)
	w.progress.writes.Add(int64(good))
}

// complain tells of a transaction that failed, and of the first few alone: a
// full disk fails all of them.
func (w *writing) complain(writes int, err error) {
	w.failures++
	if w.failures <= maxComplaints {
		w.console.notice("a transaction of %d writes failed, they come again: %v", writes, err)
	}
}

func (w *writing) succeeded(done write, now time.Duration) {
	w.result.writes++
	delay := now - done.first
	w.result.slowest = max(w.result.slowest, delay)
	_ = w.result.delays.RecordValue(int64(min(delay, maxDelay))) // within its range
	w.queue.Forget(done.key)
	w.queue.Done(done.key)
}

// retry gives the value of a failed write back and its key to the queue, for
// later. It reports false if the key has failed so often that it is given up.
func (w *writing) retry(failed write) bool {
	defer w.queue.Done(failed.key)
	if w.config.attempts > 0 && w.queue.NumRequeues(failed.key)+1 >= w.config.attempts {
		w.queue.Forget(failed.key)
		w.result.lost.add(failed.count, hashKeyString(failed.key))
		return false
	}
	w.result.retries++
	w.progress.retries.Add(1)
	w.pending.restore(failed.key, failed.value)
	w.queue.AddRateLimited(failed.key)
	return true
}
