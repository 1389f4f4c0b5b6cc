package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// A logged queue writes its log to a text, without the time of day.
type logged struct {
	*shardq.Queue[string]
	clock *clock.Fake
	text  *bytes.Buffer
}

func newLogged(options shardq.Options[string]) logged {
	l := logged{clock: newFake(), text: &bytes.Buffer{}}
	options.Clock, options.Name = l.clock, "invoices"
	options.Logger = slog.New(slog.NewTextHandler(l.text, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == "stack" && strings.HasPrefix(a.Value.String(), "goroutine ") {
				return slog.String("stack", "…")
			} else if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	l.Queue = shardq.MustNew(options)
	return l
}

// lines returns the lines since the last call.
func (l logged) lines() []string {
	defer l.text.Reset()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

func TestLoggerNamesStuckItemsOnly(t *testing.T) {
	q := newLogged(shardq.Options[string]{StuckAfter: time.Minute})
	q.Add("invoice/17")
	take(t, q.Queue)
	q.clock.Step(time.Hour)
	require.Contains(t, q.lines()[0], `is stuck in processing" processing=1h0m0s attempts=0 item=invoice/17`)
	q.Done("secret")
	require.Equal(t, []string{
		`level=WARN msg="shardq: a call that breaks the rules was ignored" rule="Done without Get" queue=invoices`,
	}, q.lines())
}

func TestLoggerWarnsOfAddresses(t *testing.T) {
	text := &bytes.Buffer{}
	shardq.MustNew(shardq.Options[*int]{Logger: slog.New(slog.NewTextHandler(text, nil))})
	require.Regexp(t, `^\S+ level=WARN msg="shardq: .*== compares an address" type=\*int part=\*int\n$`, text)
	shardq.MustNew(shardq.Options[*int]{}) // warns nobody
}

// TestLoggerGetsSomeOfMany checks that the log has ten lines at once, and then
// one a second, with the number of omitted ones.
func TestLoggerGetsSomeOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLogged(shardq.Options[string]{})
		for range 1000 {
			q.Done("a")
		}
		require.Len(t, q.lines(), 10)
		q.clock.Step(-time.Hour) // the queue's clock has no effect on it
		time.Sleep(time.Second)
		q.Done("a")
		q.Done("a")
		lines := q.lines()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "suppressed=990")
		time.Sleep(time.Second)
		q.Done("a")
		require.True(t, strings.HasSuffix(q.lines()[0], "suppressed=1"), "since the last line")
		q.ShutDown()
		require.Contains(t, q.lines()[0], "level=INFO", "one kind does not push another out")
	})
}

func TestLoggerGetsTheEndOnce(t *testing.T) {
	q := newLogged(shardq.Options[string]{})
	q.Add("a")
	q.AddAfter("b", time.Hour)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := q.Drain(ended, shardq.DrainOptions{})
	require.Error(t, err)
	q.ShutDown()
	q.ShutDown()
	lines := q.lines()
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `level=WARN msg="shardq: a drain ended early" processing=0 ready=1 delayed=0 error="context canceled"`)
	require.Contains(t, lines[1], `level=INFO msg="shardq: the queue is shut down" ready=1 processing=0 dropped=1`)
}

// TestLoggerGetsDroppedAdds at once, and then once a second while there are more.
func TestLoggerGetsDroppedAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLogged(shardq.Options[string]{})
		q.ShutDown()
		q.lines()
		require.ErrorIs(t, q.TryAdd("a", shardq.AddOptions{}), shardq.ErrShutDown) // which its caller learns
		for n, add := range []func(){
			func() { q.Add("a") }, func() { q.AddAfter("a", 1) }, func() { q.AddBatch([]string{"a"}, shardq.AddOptions{}) },
			func() { q.AddWith("a", shardq.AddOptions{NotAgainWithin: 1}) }, func() { q.AddRateLimited("a") },
		} {
			add()
			add()
			add()
			time.Sleep(time.Hour)
			synctest.Wait()
			const line = `level=WARN msg="shardq: adds are dropped since the shutdown began" dropped=%d queue=invoices`
			require.Equal(t, []string{fmt.Sprintf(line, 3*n+1), fmt.Sprintf(line, 3*n+3)}, q.lines())
		}
	})
}

// TestLoggerGetsFailures also if Group ends the goroutine that keeps them.
func TestLoggerGetsFailures(t *testing.T) {
	exits := false
	q := newLogged(shardq.Options[string]{LogItems: true, Shards: 1, Group: func(string) string {
		if exits {
			exits = false
			runtime.Goexit()
		}
		return ""
	}})
	q.AddBatch([]string{"fails", "panics", "is discarded"}, shardq.AddOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	handled := 0
	require.NoError(t, runPool(ctx, t, q.Queue, worker.Options[string]{Handle: func(_ context.Context, item string) error {
		if handled++; handled == 3 {
			cancel()
		}
		exits = true
		switch item {
		case "panics":
			panic("ouch" + strings.Repeat("é", 1<<20))
		case "is discarded":
			return worker.Permanent(errors.New("no such invoice"))
		}
		return errors.New("timeout" + strings.Repeat("é", 1<<20))
	}}))
	require.Equal(t, []string{
		`level=WARN msg="shardq: an attempt failed" error=timeout` + strings.Repeat("é", 252) + `… attempt=1 item=fails queue=invoices`,
		`level=ERROR msg="shardq: a handler panicked" panic=ouch` + strings.Repeat("é", 254) + `… stack=… attempt=1 item=panics queue=invoices`,
		`level=ERROR msg="shardq: an item was discarded" reason=permanent attempt=1 item="is discarded" error="no such invoice" queue=invoices`,
	}, q.lines())
	require.EqualValues(t, 1, q.Stats().Discarded)
	q.Done(strings.Repeat("é", 1<<20))
	require.Contains(t, q.lines()[0], "item="+strings.Repeat("é", 100)+"… ")
}

// A dead letter is told once, with its item, also if it makes an outage.
func TestLoggerGetsDeadLettersOnce(t *testing.T) {
	q := newLogged(shardq.Options[string]{Shards: 1})
	q.AddBatch([]string{"a", "b", "c", "d", "panics", strings.Repeat("é", 1<<10)}, shardq.AddOptions{})
	q.ShutDown()
	q.lines()
	require.NoError(t, runPool(t.Context(), t, q.Queue, worker.Options[string]{MaxAttempts: 1, Handle: func(_ context.Context, item string) error {
		if item == "panics" {
			panic("ouch")
		}
		return errDown
	}}))
	lines := q.lines()
	require.Len(t, lines, 7)
	require.Equal(t, []string{
		`level=ERROR msg="shardq: an item was discarded" reason=exhausted attempt=1 item=d error=down queue=invoices`,
		`level=WARN msg="shardq: an outage begins: no attempt succeeds" failures=5 for=0s queue=invoices`,
		`level=ERROR msg="shardq: an item was discarded" reason=exhausted attempt=1 item=panics stack=… error="panic: ouch" queue=invoices`,
	}, lines[3:6])
	require.Contains(t, lines[6], strings.Repeat("é", 100)+"…")
}

// TestLoggerGetsAnOutageOnce checks that a service that is down has one warning
// at its beginning, few while it lasts, and one line at its end.
func TestLoggerGetsAnOutageOnce(t *testing.T) {
	q := newLogged(shardq.Options[string]{RateLimiter: limiter.NewExponential[string](0, 0)})
	q.Add("a")
	ctx, cancel := context.WithCancel(context.Background())
	failures := 0
	require.NoError(t, runPool(ctx, t, q.Queue, worker.Options[string]{Handle: func(context.Context, string) error {
		if failures == 12_687 {
			cancel()
			return nil
		}
		failures++
		q.clock.Step(10 * time.Millisecond)
		return errors.New("down")
	}}))
	require.EqualValues(t, 1, q.Stats().Outages)
	require.Zero(t, q.Stats().OutageFailures)
	lines := q.lines()
	require.Len(t, lines, 4+3+1)
	require.Equal(t, `level=WARN msg="shardq: an outage begins: no attempt succeeds" failures=5 for=40ms error=down attempt=5 queue=invoices`, lines[4])
	require.Contains(t, lines[5], `an outage goes on: no attempt succeeds" failures=1005 for=10.04s`)
	require.Contains(t, lines[6], `failures=7005 for=1m10.04s`)
	require.Equal(t, `level=INFO msg="shardq: an outage is over: an attempt has succeeded" failures=12687 for=2m6.86s queue=invoices`, lines[7])
}

// TestOutagesAreOfFailures checks that an attempt that asks for another one
// ends a run of failures, that one that is interrupted does not, and that
// Permanent errors are no part of it.
func TestOutagesAreOfFailures(t *testing.T) {
	for _, test := range []struct {
		middle  error
		outages uint64
	}{{worker.RequeueAfter(0), 0}, {nil, 0}, {worker.Permanent(errDown), 1}, {worker.ErrAddedAgain, 1}} {
		q := shardq.MustNew(shardq.Options[int]{Shards: 1, RateLimiter: limiter.NewExponential[int](0, 0)})
		permanent := worker.Permanent(errDown)
		results := []error{errDown, errDown, errDown, test.middle, permanent, permanent, permanent, errDown, errDown, nil}
		for i := range results {
			q.Add(i)
		}
		attempts := map[int]int{}
		require.NoError(t, runPool(t.Context(), t, q, worker.Options[int]{CancelIfAddedAgain: true, Handle: func(ctx context.Context, item int) error {
			if attempts[item]++; attempts[item] > 1 {
				return nil
			}
			if item == len(results)-1 {
				q.ShutDown()
			} else if results[item] == worker.ErrAddedAgain {
				q.Add(item)
				<-ctx.Done()
			}
			return results[item]
		}}))
		require.Equal(t, test.outages, q.Stats().Outages, "%v", test.middle)
	}
	q := shardq.MustNew(shardq.Options[int]{RateLimiter: limiter.NewExponential[int](0, 0)})
	for i, result := range []error{errDown, errDown, errDown, nil, errDown, errDown, errDown, errDown, errDown, nil} {
		q.Add(i)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, q.Run(ctx, 1, func(context.Context, int) error { cancel(); return result }))
		require.Equal(t, i >= 8, q.Stats().Outages == 1, "Run %d", i)
		require.Equal(t, i == 8, q.Stats().OutageFailures == 5, "Run %d", i)
	}
}

var errDown = errors.New("down")
