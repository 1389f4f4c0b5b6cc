package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// maxBatch limits the rows of one transaction. A larger one makes a row
// cheaper, and an event wait longer.
const maxBatch = 4096

// writing is the second part of the pipeline, from the coalescer to the
// database.
//
// Each worker takes the ready values, up to a batch, and writes them in one
// transaction. The database has one writer. While one worker writes, the others
// have the next batches ready. A failed row returns to the coalescer, and is
// retried with the events of its key since then.
type writing struct {
	*pipeline
	ended chan error         // of the workers
	stop  context.CancelFunc // makes the workers drain

	mu       sync.Mutex // guards the sink and the fields below
	failures *rand.Rand
	batch    []row // of the transaction, reused
	result   written
	broken   int // transactions that failed
}

// written is the result of the writes.
type written struct {
	writes  uint64 // writes that succeeded
	retries uint64
	lost    tally // events whose writes failed for good
	delays  *hdrhistogram.Histogram
	slowest time.Duration
}

// maxDelay is the longest delay from event to commit that the histogram
// distinguishes.
const maxDelay = time.Hour

func newDelays() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(maxDelay), 3)
}

func newWriting(p *pipeline) *writing {
	w := &writing{pipeline: p, failures: rand.New(rand.NewPCG(p.config.seed, 0))}
	w.result.delays = newDelays()
	return w
}

// start starts the workers.
func (w *writing) start() error {
	workers, err := worker.New(w.events, worker.Options[row]{
		Workers:     w.config.workers,
		HandleBatch: w.write,
		BatchSize:   maxBatch,
		MaxAttempts: w.config.attempts,
		OnError:     w.failed,
		OnDiscard:   w.discarded,
		Labels:      w.config.listen != "",
		// Values that fail during the drain, or are delayed then, are retried.
		// But the platform kills a program that takes too long to end.
		Drain:        w.events.DrainWith(shardq.DrainOptions{Delayed: shardq.AwaitDelayed}),
		DrainTimeout: w.config.patience,
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- workers.Run(ctx) }()
	return nil
}

// finish waits until all events that were read are written or discarded. Once
// ctx has ended, that takes no longer than the patience. Events that are left
// then are lost.
func (w *writing) finish(ctx context.Context) written {
	_ = w.events.WaitIdle(ctx) // if ctx ends, the workers drain
	w.stop()
	if err := <-w.ended; err != nil {
		w.console.notice("-patience is over: %v", err)
		w.countLeft(err)
	}
	return w.result
}

// countLeft counts as lost what the workers have left.
func (w *writing) countLeft(err error) {
	var left *coalesce.DrainError[string, value]
	if errors.As(err, &left) {
		for _, r := range left.Left() {
			w.result.lost.add(r.Value.count, hashKeyString(r.Key))
		}
	}
}

var errOnPurpose = errors.New("-fail: this write fails on purpose")

// write writes the rows in one transaction, except those that are chosen to
// fail.
func (w *writing) write(_ context.Context, rows []row) []error {
	w.progress.sampleDepth(w.events)
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := w.chooseFailures(rows)
	if err := w.sink.commit(w.batch); err != nil {
		w.complain(err)
		return all(len(rows), err)
	}
	now := time.Since(w.progress.start)
	for _, r := range w.batch {
		w.succeeded(r.Value, now)
	}
	w.progress.writes.Add(int64(len(w.batch)))
	return errs
}

// chooseFailures makes the batch of the rows that are not chosen to fail, and
// returns the errors of all rows, or nil if none is chosen.
func (w *writing) chooseFailures(rows []row) []error {
	w.batch = w.batch[:0]
	if w.config.fail == 0 {
		w.batch = append(w.batch, rows...)
		return nil
	}
	errs := make([]error, len(rows))
	for i, r := range rows {
		if w.failures.Float64() < w.config.fail {
			errs[i] = errOnPurpose
		} else {
			w.batch = append(w.batch, r)
		}
	}
	return errs
}

func all(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// complain reports a failed transaction. It reports only the first few, because
// a full disk fails all of them.
func (w *writing) complain(err error) {
	w.broken++
	if w.broken <= maxComplaints {
		w.console.notice("a transaction of %d writes failed; they are retried: %v", len(w.batch), err)
	}
}

func (w *writing) succeeded(v value, now time.Duration) {
	w.result.writes++
	delay := now - v.first
	w.result.slowest = max(w.result.slowest, delay)
	_ = w.result.delays.RecordValue(int64(min(delay, maxDelay))) // cannot fail: it is in range
}

// failed is the OnError hook.
func (w *writing) failed(_ context.Context, f worker.Failure[row]) {
	if f.Final {
		return // OnDiscard counts it
	}
	w.progress.retries.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.retries++
}

// discarded is the OnDiscard hook.
func (w *writing) discarded(_ context.Context, f worker.Failure[row]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.lost.add(f.Item.Value.count, hashKeyString(f.Item.Key))
}
