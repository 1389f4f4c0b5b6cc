package main

// This file is the part of the queue. To use it elsewhere, copy it, and change
// value, merge and store.

import (
	"cmp"
	"context"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

const (
	// The delay doubles up to lastRetry. Later events of the key wait with it.
	firstRetry, lastRetry = 5 * time.Millisecond, time.Second

	maxBatch = 4096 // rows of one transaction: more are cheaper, and wait longer
)

type value = int64

func merge(pending, next value) value { return pending + next }

type row = coalesce.Entry[string, value]

// A pipeline has, for each key, the events that are not written yet:
//
//	reader -> coalesce.Coalescer -> worker.Pool -> store
//
// All events of a key before a worker reaches it are one row. Two writes of a
// key never overlap. A failed row is retried with the later events of its key.
type pipeline struct {
	events          *coalesce.Coalescer[string, value]
	workers         *worker.Pool[row]
	leave           context.CancelFunc // makes the workers drain and leave
	ended           chan error         // of the workers
	start           time.Time
	log             *log.Logger
	writes, retries atomic.Int64
	lost, left      atomic.Int64 // events whose writes failed for good, and those for the next run
	mu              sync.Mutex   // one worker writes, and the others have the next batches
	store           func([]row) error
}

func newPipeline(c config, log *log.Logger) (p *pipeline, err error) {
	p = &pipeline{log: log, ended: make(chan error, 1)}
	p.events, err = coalesce.New(coalesce.Options[string, value]{
		Queue: shardq.Options[string]{
			Name:        "ingest",
			RateLimiter: limiter.NewExponential[string](firstRetry, lastRetry),
			Metrics:     c.listen != "",
		},
		Merge:    merge,
		Capacity: c.maxPending,
	})
	if err != nil {
		return nil, err
	}
	p.workers, err = worker.New(p.events, worker.Options[row]{
		Workers:     c.workers,
		HandleBatch: p.write,
		BatchSize:   maxBatch,
		MaxAttempts: c.attempts,
		OnError:     p.failed,
		OnDiscard:   p.discarded,
		OnLeftover:  func(_ context.Context, f worker.Failure[row]) { p.left.Add(f.Item.Value) },
		// The platform kills a program that takes too long to end.
		Drain:        p.events.DrainWith(shardq.DrainOptions{Delayed: shardq.AwaitDelayed}),
		DrainTimeout: cmp.Or(c.patience, 1), // 0 would mean no timeout
	})
	return p, err
}

// After an error rows are retried, or discarded if it is worker.Permanent.
func (p *pipeline) begin(store func([]row) error) {
	p.store, p.start = store, time.Now()
	var ctx context.Context
	ctx, p.leave = context.WithCancel(context.Background())
	go func() { p.ended <- p.workers.Run(ctx) }()
}

// finish waits until all events are written or discarded, and once ctx has
// ended, no longer than the patience. Nothing may be put meanwhile.
func (p *pipeline) finish(ctx context.Context) {
	_ = p.events.WaitIdle(ctx) // if ctx ends, the workers drain
	p.leave()
	if err := <-p.ended; err != nil {
		p.log.Printf("-patience is over: %v", err)
	}
}

func (p *pipeline) write(_ context.Context, rows []row) []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.store(rows)
	if err == nil {
		p.writes.Add(int64(len(rows)))
	}
	return worker.FailAll(len(rows), err)
}

func (p *pipeline) failed(_ context.Context, f worker.Failure[row]) {
	if !f.Final && p.retries.Add(1) == 1 {
		p.log.Printf("a write failed, and is retried: %v; the next failures are only counted", f.Err)
	}
}

func (p *pipeline) discarded(_ context.Context, f worker.Failure[row]) {
	p.lost.Add(f.Item.Value)
}
