package shardq

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// An eventLog writes the events of a queue to [Options].Logger. It writes only
// a few lines of a kind at once, however much happens, and says how many it
// left out. It measures real time, because people read the log. A nil eventLog
// is silent.
//
// Its methods call the user's logger, so no lock may be held.
type eventLog struct {
	logger *slog.Logger
	queue  string
	items  bool
	kinds  [eventKinds]eventKind
}

// The kinds of events. Each has its own allowance, so that many events of one
// kind do not suppress those of another.
const (
	eventMisuse = iota
	eventStuck
	eventWatermark
	eventFailure
	eventPanic
	eventDiscard
	eventShutDown
	eventDrain
	eventOutage
	eventRecovery

	eventKinds
)

// What is logged of each kind: at most eventBurst lines at once, and eventRate
// a second.
const (
	eventBurst = 10
	eventRate  = rate.Limit(1)
)

// An eventKind limits the lines of one kind.
type eventKind struct {
	allowance *rate.Limiter
	// suppressed counts the lines that were left out since the last one.
	suppressed atomic.Uint64
}

// eventLevels has the level of each kind. What the queue or a worker recovers
// from is a warning. What is lost, or is a fault of the program, is an error.
var eventLevels = [eventKinds]slog.Level{
	eventMisuse: slog.LevelWarn, eventStuck: slog.LevelWarn, eventWatermark: slog.LevelInfo,
	eventFailure: slog.LevelWarn, eventPanic: slog.LevelError, eventDiscard: slog.LevelError,
	eventShutDown: slog.LevelInfo, eventDrain: slog.LevelWarn,
	eventOutage: slog.LevelWarn, eventRecovery: slog.LevelInfo,
}

// newEventLog returns an event log, or nil if there is no logger.
func (o Options[T]) newEventLog() *eventLog {
	if o.Logger == nil {
		return nil
	}
	l := &eventLog{logger: o.Logger, queue: o.Name, items: o.LogItems}
	for kind := range l.kinds {
		l.kinds[kind].allowance = rate.NewLimiter(eventRate, eventBurst)
	}
	return l
}

// write writes a line if the logger wants it and the kind's allowance permits
// it.
func (l *eventLog) write(ctx context.Context, kind int, text string, attributes ...slog.Attr) {
	level := eventLevels[kind]
	if !l.logger.Enabled(ctx, level) {
		return
	}
	k := &l.kinds[kind]
	if !k.allowance.Allow() {
		k.suppressed.Add(1)
		return
	}
	if l.queue != "" {
		attributes = append(attributes, slog.String("queue", l.queue))
	}
	if n := k.suppressed.Swap(0); n > 0 {
		attributes = append(attributes, slog.Uint64("suppressed", n))
	}
	l.logger.LogAttrs(ctx, level, "shardq: "+text, attributes...)
}

// item returns the attribute of an item, or none unless [Options].LogItems is
// set. The item is formatted only if the line is written.
func (l *eventLog) item(item any) slog.Attr {
	if !l.items {
		return slog.Attr{}
	}
	return slog.Any("item", loggedItem{item})
}

// longestLogged limits the bytes of an item in a line.
const longestLogged = 200

type loggedItem struct{ item any }

func (i loggedItem) LogValue() slog.Value {
	return slog.StringValue(keytext.Of(i.item, longestLogged).String())
}

func (l *eventLog) misuse(kind stats.MisuseKind, item any) {
	l.write(context.Background(), eventMisuse, "a call that breaks the rules was ignored",
		slog.String("rule", kind.String()), l.item(item))
}

func (l *eventLog) stuck(item any, processing time.Duration, attempts int) {
	l.write(context.Background(), eventStuck, "an item is stuck in processing",
		slog.Duration("processing", processing), slog.Int("attempts", attempts), l.item(item))
}

// watermark may be called on a nil eventLog.
func (l *eventLog) watermark(high bool) {
	switch {
	case l == nil:
	case high:
		l.write(context.Background(), eventWatermark, "the queue has reached its high watermark")
	default:
		l.write(context.Background(), eventWatermark, "the queue is down to its low watermark")
	}
}

func (l *eventLog) discarded(ctx context.Context, item any, attempt int, err error, panicked *worker.PanicError) {
	if panicked != nil {
		err = fmt.Errorf("panic: %v", panicked.Value) // its stack was logged with the attempt
	}
	l.write(ctx, eventDiscard, "an item was discarded", slog.Any("error", err), slog.Int("attempt", attempt), l.item(item))
}

func (l *eventLog) shutDown(st Stats) {
	l.write(context.Background(), eventShutDown, "the queue is shut down", slog.Int("ready", st.Ready),
		slog.Int("processing", st.Processing), slog.Uint64("dropped", st.Dropped))
}

// drainEndedEarly logs how much a drain has left. It does not log the drain's
// error, which lists items.
func (l *eventLog) drainEndedEarly(ctx context.Context, processing, ready, delayed int, cause error) {
	l.write(ctx, eventDrain, "a drain ended early", slog.Int("processing", processing), slog.Int("ready", ready),
		slog.Int("delayed", delayed), slog.Any("error", cause))
}
