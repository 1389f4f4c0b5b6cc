package main

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
)

const (
	// An attempt that failed is followed by another after firstRetry, then after twice
	// that, and so on up to lastRetry.
	firstRetry = 5 * time.Millisecond
	lastRetry  = 500 * time.Millisecond

	// maxAttempts is how often an object is tried before it is given up until its next
	// change. With one failure in twenty that happens to nobody.
	maxAttempts = 8

	// attemptTimeout ends a call that hangs, which would cost a worker for ever.
	attemptTimeout = 250 * time.Millisecond

	// stuckAfter is when somebody is told of it: long before the timeout, and long after
	// any call that is only slow.
	stuckAfter = 100 * time.Millisecond
)

// background is the priority of what nobody waits for: the list of all objects. A live
// change, which somebody looks at just now, has the priority 0.
const background = -100

// queueOptions is where each feature of the queue is chosen.
func (c *controller) queueOptions() shardq.Options[Key] {
	options := shardq.Options[Key]{
		Name:        "controller",
		RateLimiter: limiter.NewExponential[Key](firstRetry, lastRetry),
		// Priorities are strict, and changes that never end would keep the list waiting
		// for ever. So one in 16 Gets goes to what has waited longest below.
		LowerLevelEvery: 16,
		// Which object hangs, and in which call? Without a name all one sees is a worker
		// less. OnStuck implies ages, by which the progress names the slowest, too.
		StuckAfter: stuckAfter,
		OnStuck:    c.reconciler.stuck,
		// What is counted and measured is for those who look: see -listen.
		Metrics: c.config.listen != "",
	}
	if !c.config.noGroups {
		// Each tenant has its turn, however much another has in the queue, and always
		// finds some workers that are not busy with, or stuck in, another's objects.
		options.Group = func(key Key) string { return key.Tenant }
		options.GroupLimit = c.config.tenantLimit()
	}
	return options
}

// tenantLimit is how many workers one tenant may have at once: three of four.
func (c config) tenantLimit() int { return max(1, c.workers*3/4) }

// workerOptions is the loop around the reconciler.
func (c *controller) workerOptions() shardq.WorkerOptions[Key] {
	return shardq.WorkerOptions[Key]{
		Workers:     c.config.workers,
		Handle:      c.reconciler.reconcile,
		Timeout:     attemptTimeout,
		MaxAttempts: maxAttempts,
		OnError:     c.reconciler.failed,
		OnGiveUp:    c.reconciler.giveUp,
		// What is ready when the work ends is looked at, and what waits, at once: a resync,
		// or what has failed. What fails from then on is retried until the patience is over:
		// an API that is down may stay so, and the list of the next start stands for the rest.
		Drain:        &shardq.DrainOptions{Waiting: shardq.RunWaiting},
		DrainTimeout: max(c.config.patience, 1), // 0 would be without end
		// A goroutine profile tells then which worker is where.
		Labels: c.config.listen != "",
	}
}

// listPriority is the priority of the list of all objects.
func (c config) listPriority() int {
	if c.noPriorities {
		return 0
	}
	return background
}
