package contract

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// TestLoggerGetsAnOutageOnce checks that a service that is down has one warning
// at its beginning, few while it lasts, and one line at its end.
func TestLoggerGetsAnOutageOnce(t *testing.T) {
	q := newLogged(shardq.Options[string]{RateLimiter: limiter.NewExponential[string](0, 0)})
	q.Add("a")
	ctx, cancel := context.WithCancel(context.Background())
	failures := 0
	pool, err := worker.New(q.Queue, worker.Options[string]{Workers: 1, Handle: func(context.Context, string) error {
		if failures == 12_687 {
			cancel()
			return nil
		}
		failures++
		q.clock.Step(10 * time.Millisecond)
		return errors.New("down")
	}})
	require.NoError(t, err)
	require.NoError(t, pool.Run(ctx))
	require.EqualValues(t, 1, q.Stats().Outages)
	require.Zero(t, q.Stats().OutageFailures)
	lines := q.lines()
	require.Len(t, lines, 4+3+1)
	require.Equal(t, `level=WARN msg="shardq: an outage begins: no attempt succeeds" failures=5 for=40ms error=down attempt=5 queue=invoices`, lines[4])
	require.Contains(t, lines[5], `an outage goes on: no attempt succeeds" failures=1005 for=10.04s`)
	require.Contains(t, lines[6], `failures=7005 for=1m10.04s`)
	require.Equal(t, `level=INFO msg="shardq: an outage is over: an attempt has succeeded" failures=12687 for=2m6.86s queue=invoices`, lines[7])
}

// TestOutagesAreCounted checks that a queue counts outages without a logger,
// and the failures of the one that lasts.
func TestOutagesAreCounted(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[string, string]{
		Merge: joined, Queue: shardq.Options[string]{RateLimiter: limiter.NewExponential[string](0, 0)},
	})
	type reading struct {
		outages  uint64
		failures int
	}
	read := func() reading {
		stats := c.Stats()
		return reading{stats.Outages, stats.OutageFailures}
	}
	require.NoError(t, c.Put("a", "1"))
	var readings []reading // before each attempt
	require.NoError(t, c.Run(t.Context(), 1, func(context.Context, string, string) error {
		readings = append(readings, read())
		switch len(readings) {
		case 5:
			return c.Put("a", "2")
		case 13:
			c.ShutDown()
			return nil
		default:
			return errors.New("down")
		}
	}))
	require.Len(t, readings, 13)
	require.Equal(t, make([]reading, 10), readings[:10])
	require.Equal(t, []reading{{1, 5}, {1, 6}, {1, 7}}, readings[10:])
	require.Equal(t, reading{1, 0}, read())
}

// TestOutagesAreOfFailures checks that an attempt that asks for another one
// ends a run of failures, and that Permanent errors are no part of it.
func TestOutagesAreOfFailures(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, RateLimiter: limiter.NewExponential[int](0, 0)})
	results := []error{
		errDown, errDown, errDown, errDown, worker.RequeueAfter(0), errDown, errDown, errDown,
		worker.Permanent(errDown), worker.Permanent(errDown), worker.Permanent(errDown), errDown, nil,
	}
	for i := range results {
		q.Add(i)
	}
	attempts := map[int]int{}
	outages := uint64(0) // before the last item succeeds
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, item int) error {
		if attempts[item]++; attempts[item] > 1 {
			return nil
		}
		if item == len(results)-1 {
			outages = q.Stats().Outages
			q.ShutDown()
		}
		return results[item]
	}))
	require.Zero(t, outages)
	require.Zero(t, q.Stats().Outages)
}

var errDown = errors.New("down")

// A quitter is a handler of logs that ends the goroutine at a text.
type quitter struct {
	slog.Handler
	at string
}

func (q quitter) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, q.at) {
		runtime.Goexit()
	}
	return nil
}

// TestLoggerThatQuitsLosesNoRequeue checks that an item runs again that a
// handler asks for, although the logger ends the goroutine when the outage is
// over.
func TestLoggerThatQuitsLosesNoRequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{
			RateLimiter: limiter.NewExponential[string](0, 0),
			Logger:      slog.New(quitter{slog.NewTextHandler(io.Discard, nil), "an outage is over"}),
		})
		q.Add("a")
		attempts := 0
		require.NoError(t, q.Run(t.Context(), 1, func(context.Context, string) error {
			switch attempts++; {
			case attempts <= 5:
				return errDown
			case attempts == 6:
				return worker.RequeueAfter(time.Second)
			}
			q.ShutDown()
			return nil
		}))
		require.Equal(t, 7, attempts)
	})
}
