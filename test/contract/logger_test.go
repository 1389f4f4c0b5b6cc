package contract

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
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
			if a.Key == slog.TimeKey || a.Key == "stack" {
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

func TestLoggerGetsMisuseWithoutItems(t *testing.T) {
	q := newLogged(shardq.Options[string]{})
	q.Done("secret")
	require.Equal(t, []string{
		`level=WARN msg="shardq: a call that breaks the rules was ignored" rule="Done without Get" queue=invoices`,
	}, q.lines())
}

func TestLoggerNamesItemsIfAsked(t *testing.T) {
	q := newLogged(shardq.Options[string]{LogItems: true})
	q.Done("invoice/17")
	require.Contains(t, q.lines()[0], "item=invoice/17")
	q.Done(strings.Repeat("é", 1<<20))
	line := q.lines()[0]
	require.Less(t, len(line), 500)
	require.Contains(t, line, strings.Repeat("é", 100)+"…")
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

// A slowName is an item whose text is expensive.
type slowName struct{ asked *int }

func (n slowName) String() string {
	*n.asked++
	return "slow"
}

// TestLoggerWritesNoItemInVain checks that items of omitted lines are not
// formatted.
func TestLoggerWritesNoItemInVain(t *testing.T) {
	asked := 0
	q := shardq.MustNew(shardq.Options[any]{LogItems: true, Logger: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))})
	for range 1000 {
		q.Done(slowName{&asked})
	}
	require.LessOrEqual(t, asked, 15)
	require.GreaterOrEqual(t, asked, 10)
}

// TestLoggerOmitsWhatTheEndLeaves checks that items that a drain drops are no
// failures.
func TestLoggerOmitsWhatTheEndLeaves(t *testing.T) {
	q := newLogged(shardq.Options[string]{})
	q.Add("later")
	ctx, cancel := context.WithCancel(context.Background())
	reported := 0
	w, err := worker.New(q.Queue, worker.Options[string]{
		Workers: 1, Drain: q.DrainWith(shardq.DrainOptions{}), OnDiscard: func(context.Context, worker.Failure[string]) { reported++ },
		Handle: func(context.Context, string) error {
			q.AddAfter("resync", time.Hour)
			cancel()
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, w.Run(ctx))
	require.Equal(t, 1, reported)
	require.Zero(t, q.Stats().Discarded)
	require.Equal(t, []string{`level=INFO msg="shardq: the queue is shut down" ready=0 processing=0 dropped=1 queue=invoices`}, q.lines())
}

func TestLoggerGetsStuckItems(t *testing.T) {
	q := newLogged(shardq.Options[string]{StuckAfter: time.Minute})
	q.Add("a")
	_, _ = q.Get()
	q.clock.Step(2 * time.Minute)
	line := q.lines()[0]
	require.Contains(t, line, "level=WARN")
	require.Contains(t, line, "processing=2m0s")
	require.True(t, q.Inspect().Configuration().Ages)
}

func TestLoggerGetsWatermarks(t *testing.T) {
	q := newLogged(shardq.Options[string]{Watermarks: shardq.Watermarks{High: 2, Low: 0}})
	q.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
	q.Cancel("a")
	q.Cancel("b")
	lines := q.lines()
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "has reached its high watermark")
	require.Contains(t, lines[1], "is down to its low watermark")
	_, err := shardq.New(shardq.Options[string]{Logger: slog.Default(), Watermarks: shardq.Watermarks{High: 1, Low: 1}})
	require.ErrorContains(t, err, "Low 1")
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

func TestLoggerGetsFailures(t *testing.T) {
	q := newLogged(shardq.Options[string]{LogItems: true, Shards: 1})
	q.AddBatch([]string{"fails", "panics", "is discarded"}, shardq.AddOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	handled := 0
	w, err := worker.New(q.Queue, worker.Options[string]{Workers: 1, Handle: func(_ context.Context, item string) error {
		if handled++; handled == 3 {
			cancel()
		}
		switch item {
		case "panics":
			panic("ouch")
		case "is discarded":
			return worker.Permanent(errors.New("no such invoice"))
		}
		return errors.New("timeout")
	}})
	require.NoError(t, err)
	require.NoError(t, w.Run(ctx))
	require.Equal(t, []string{
		`level=WARN msg="shardq: an attempt failed" error=timeout attempt=1 item=fails queue=invoices`,
		`level=ERROR msg="shardq: a handler panicked" panic=ouch attempt=1 item=panics queue=invoices`,
		`level=WARN msg="shardq: an attempt failed" error="no such invoice" attempt=1 item="is discarded" queue=invoices`,
		`level=ERROR msg="shardq: an item was discarded" error="no such invoice" attempt=1 item="is discarded" queue=invoices`,
	}, q.lines())
	require.EqualValues(t, 1, q.Stats().Discarded)
}

// TestLoggerOfACoalescerNamesKeys checks that the log has keys and no values.
func TestLoggerOfACoalescerNamesKeys(t *testing.T) {
	var text bytes.Buffer
	c := coalesce.MustNew(coalesce.Options[string, string]{
		Queue: shardq.Options[string]{Logger: slog.New(slog.NewTextHandler(&text, nil)), LogItems: true},
		Merge: func(_, next string) string { return next },
	})
	require.NoError(t, c.Put("key", "value"))
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, c.Run(ctx, 1, func(context.Context, string, string) error {
		cancel()
		return errors.New("failed")
	}))
	require.Contains(t, text.String(), "item=key")
	require.NotContains(t, text.String(), "value")
}

// A callingLogHandler is a handler of a log that calls the queue (C17): no lock
// is held.
type callingLogHandler struct {
	slog.Handler
	use func()
}

func (l callingLogHandler) Handle(context.Context, slog.Record) error {
	l.use()
	return nil
}

func TestC17LoggerMayUseTheQueue(t *testing.T) {
	var q *shardq.Queue[string]
	var reported atomic.Int32
	handler := callingLogHandler{slog.NewTextHandler(&bytes.Buffer{}, nil), func() {
		reported.Add(1)
		q.Add("of the log")
		q.Snapshot(10)
	}}
	fake := newFake()
	q = shardq.MustNew(shardq.Options[string]{
		Clock: fake, Logger: slog.New(handler), StuckAfter: time.Second, Watermarks: shardq.Watermarks{High: 3, Low: 1},
	})
	q.Done("a")
	q.AddBatch([]string{"a", "b", "c"}, shardq.AddOptions{})
	_, _ = q.Get()
	fake.Step(time.Minute)
	q.ShutDown()
	require.EqualValues(t, 4, reported.Load(), "misuse, the watermark, an item that is stuck, the end")
}

// TestLoggerThatIsDisabled checks that a disabled handler uses up no line of
// the limit, and gets none.
func TestLoggerThatIsDisabled(t *testing.T) {
	var text bytes.Buffer
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	q := shardq.MustNew(shardq.Options[string]{Clock: newFake(), Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level}))})
	for range 100 {
		q.Done("a")
	}
	require.Empty(t, text.String())
	level.Set(slog.LevelWarn)
	q.Done("a")
	require.NotContains(t, text.String(), "suppressed")
}
