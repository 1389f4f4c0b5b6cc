package main

import (
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
)

// A value is what is written for one key: its number of events, and the time of
// the first of them, since the start of the run.
type value struct {
	count uint64
	first time.Duration
}

// merge returns the sum of two values.
func merge(pending, next value) value {
	return value{pending.count + next.count, min(pending.first, next.first)}
}

// events are between the readers and the database. They have, for each key, the
// events that were read and are not written yet.
type events = coalesce.Coalescer[string, value]

// A row is a key with its value.
type row = coalesce.Entry[string, value]

// A key whose write fails is retried after firstRetry, then after twice that,
// and so on up to lastRetry. Its later events wait with it.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Second
)

func newEvents(config config) (*events, error) {
	return coalesce.New(coalesce.Options[string, value]{
		Queue: shardq.Options[string]{
			Name:        "ingest",
			Shards:      config.shards,
			RateLimiter: limiter.NewExponential[string](firstRetry, lastRetry),
			Metrics:     config.listen != "",
		},
		Merge:    merge,
		Capacity: config.maxPending,
	})
}
