package shardq

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/internal/keytext"
)

// A logbook writes what happens in a queue to [Options].Logger: never more than a few lines of
// a kind at once, however much happens, and how many were left out. That is by real time, for
// a log is for people. A nil logbook is silent.
type logbook struct {
	logger *slog.Logger
	queue  string
	items  bool
	pages  [logKinds]logPage
}

// A logKind is a kind of line. Each has its own allowance, so that many lines of one do not
// push those of another out.
type logKind int

const (
	logMisuse logKind = iota
	logStuck
	logWatermark
	logFailure
	logPanic
	logGivenUp
	logEnd
	logDrain

	logKinds
)

// What is logged of each kind: at most logBurst lines at once, and logRate a second.
const (
	logBurst = 10
	logRate  = rate.Limit(1)
)

type logPage struct {
	allowance *rate.Limiter
	// suppressed counts the lines that were left out since the last that was written.
	suppressed atomic.Uint64
}

// levels has a level for each kind. What the queue or a worker deals with by itself is a warning;
// what is lost, or is a fault of the program, is an error.
var levels = [logKinds]slog.Level{
	logMisuse: slog.LevelWarn, logStuck: slog.LevelWarn, logWatermark: slog.LevelInfo,
	logFailure: slog.LevelWarn, logPanic: slog.LevelError, logGivenUp: slog.LevelError,
	logEnd: slog.LevelInfo, logDrain: slog.LevelWarn,
}

// newLogbook returns a logbook, or nil if there is no logger.
func (o Options[T]) newLogbook() *logbook {
	if o.Logger == nil {
		return nil
	}
	l := &logbook{logger: o.Logger, queue: o.Name, items: o.LogItems}
	for kind := range l.pages {
		l.pages[kind].allowance = rate.NewLimiter(logRate, logBurst)
	}
	return l
}

// write writes a line, if the logger wants it and the kind's allowance lets it. It calls the
// user's logger: hold no lock.
func (l *logbook) write(ctx context.Context, kind logKind, text string, attributes ...slog.Attr) {
	level := levels[kind]
	if !l.logger.Enabled(ctx, level) {
		return
	}
	page := &l.pages[kind]
	if !page.allowance.Allow() {
		page.suppressed.Add(1)
		return
	}
	if l.queue != "" {
		attributes = append(attributes, slog.String("queue", l.queue))
	}
	if n := page.suppressed.Swap(0); n > 0 {
		attributes = append(attributes, slog.Uint64("suppressed", n))
	}
	l.logger.LogAttrs(ctx, level, "shardq: "+text, attributes...)
}

// item returns the attribute of an item: nothing, unless items are asked for. It is written only if
// the line is.
func (l *logbook) item(item any) slog.Attr {
	if !l.items {
		return slog.Attr{}
	}
	return slog.Any("item", loggedItem{item})
}

// longestLogged is how many bytes of an item a line has.
const longestLogged = 200

type loggedItem struct{ item any }

func (i loggedItem) LogValue() slog.Value {
	return slog.StringValue(keytext.Of(i.item, longestLogged).String())
}

func (l *logbook) misuse(kind MisuseKind, item any) {
	l.write(context.Background(), logMisuse, "a call was ignored that breaks the rules",
		slog.String("rule", kind.String()), l.item(item))
}

func (l *logbook) stuck(item any, processing time.Duration, attempts int) {
	l.write(context.Background(), logStuck, "an item has been in processing for long",
		slog.Duration("processing", processing), slog.Int("attempts", attempts), l.item(item))
}

// watermark may be called of a nil logbook.
func (l *logbook) watermark(high bool) {
	switch {
	case l == nil:
	case high:
		l.write(context.Background(), logWatermark, "the queue has filled up to its high watermark")
	default:
		l.write(context.Background(), logWatermark, "the queue has emptied down to its low watermark")
	}
}

// failure logs an attempt that failed. A panic is a fault of the program, whatever becomes of the
// item.
func (l *logbook) failure(ctx context.Context, item any, attempt int, err error, panicked *PanicError) {
	if panicked != nil {
		l.write(ctx, logPanic, "a handler panicked", slog.Any("panic", panicked.Value),
			slog.String("stack", string(panicked.Stack)), slog.Int("attempt", attempt), l.item(item))
		return
	}
	l.write(ctx, logFailure, "an attempt failed", slog.Any("error", err), slog.Int("attempt", attempt), l.item(item))
}

func (l *logbook) givenUp(ctx context.Context, item any, attempt int, err error, panicked *PanicError) {
	if panicked != nil {
		err = fmt.Errorf("panic: %v", panicked.Value) // its stack was logged with the attempt
	}
	l.write(ctx, logGivenUp, "an item was given up", slog.Any("error", err), slog.Int("attempt", attempt), l.item(item))
}

func (l *logbook) shutDown(stats Stats) {
	l.write(context.Background(), logEnd, "the queue is shut down", slog.Int("ready", stats.Ready),
		slog.Int("processing", stats.Processing), slog.Uint64("dropped", stats.Dropped))
}

// drainGaveUp logs what a drain has left. Its error would name items.
func (l *logbook) drainGaveUp(ctx context.Context, processing, ready, waiting int, cause error) {
	l.write(ctx, logDrain, "a drain gave up", slog.Int("processing", processing), slog.Int("ready", ready),
		slog.Int("waiting", waiting), slog.Any("error", cause))
}
