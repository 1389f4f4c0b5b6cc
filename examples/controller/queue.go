package main

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

const (
	// firstRetry is the delay after the first failed attempt. It doubles with
	// each attempt up to lastRetry.
	firstRetry = 5 * time.Millisecond
	lastRetry  = 500 * time.Millisecond

	// maxAttempts is the number of attempts after which an object is discarded
	// until its next change. With one failure in twenty that never happens.
	maxAttempts = 8

	// attemptTimeout ends a call that hangs, which would otherwise occupy a
	// worker forever.
	attemptTimeout = 250 * time.Millisecond

	// stuckAfter is the time after which the queue calls OnStuck: long before
	// the timeout, and long after any slow call.
	stuckAfter = 100 * time.Millisecond
)

// background is the priority of the list of all objects, which is not urgent. A
// live change has priority 0.
const background = -100

// queueOptions configures each feature of the queue.
func (c *controller) queueOptions() shardq.Options[Key] {
	options := shardq.Options[Key]{
		Name:        "controller",
		RateLimiter: limiter.NewExponential[Key](firstRetry, lastRetry),
		// Priorities are strict, so that endless changes would keep the list
		// waiting forever. One in 16 Gets therefore serves the lower priority
		// that has waited longest.
		LowPriorityInterval: 16,
		// OnStuck names the object that hangs. Without it, there is only one
		// worker less. OnStuck implies ages, which the progress uses to name
		// the slowest.
		StuckAfter: stuckAfter,
		OnStuck:    c.reconciler.stuck,
		// Metrics are only read with -listen.
		Metrics: c.config.listen != "",
	}
	if !c.config.noGroups {
		// Each tenant has its turn, however many items another has in the
		// queue. It always finds some workers that are not busy with, or stuck
		// in, the objects of another.
		options.Group = func(key Key) string { return key.Tenant }
		limit := c.config.tenantLimit()
		options.GroupPolicy = func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: limit} }
	}
	return options
}

// tenantLimit returns the number of workers that one tenant may have at once:
// three of four.
func (c config) tenantLimit() int { return max(1, c.workers*3/4) }

// workerOptions configures the workers that call the reconciler.
func (c *controller) workerOptions() worker.Options[Key] {
	return worker.Options[Key]{
		Workers:     c.config.workers,
		Handle:      c.reconciler.reconcile,
		Timeout:     attemptTimeout,
		MaxAttempts: maxAttempts,
		OnError:     c.reconciler.failed,
		OnDiscard:   c.reconciler.discard,
		// At the end of the work, the drain processes ready and delayed items
		// at once: resyncs and retries. Later failures are retried until the
		// patience ends, because an API that is down may stay down. The list of
		// the next start restores the rest.
		Drain:        c.queue.DrainWith(shardq.DrainOptions{Delayed: shardq.RunDelayed}),
		DrainTimeout: max(c.config.patience, 1), // 0 would mean no timeout
		// A goroutine profile then names the workers.
		Labels: c.config.listen != "",
	}
}

// listPriority returns the priority of the list of all objects.
func (c config) listPriority() int {
	if c.noPriorities {
		return 0
	}
	return background
}
