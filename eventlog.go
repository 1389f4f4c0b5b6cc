package shardq

import (
	"context"
	"log/slog"
	"sync"
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

	dropped atomic.Uint64 // adds, and
	waits   atomic.Bool   // whether their next line waits for a timer
}

// Each kind has an allowance, so that many events do not suppress others.
const (
	eventMisuse = iota
	eventStuck
	eventWatermark
	eventFailure
	eventPanic
	eventDiscard
	eventShutDown
	eventDrain
	eventDropped
	eventOutage
	eventRecovery

	eventKinds
)

const (
	eventBurst = 10            // lines of a kind at once
	eventRate  = rate.Limit(1) // a second
)

// An eventKind limits the lines of one kind.
type eventKind struct {
	allowance  *rate.Limiter
	suppressed atomic.Uint64 // lines that were left out since the last one
}

// eventLevels has the level of each kind. What the queue or a worker recovers
// from is a warning. What is lost, or is a fault of the program, is an error.
var eventLevels = [eventKinds]slog.Level{
	eventMisuse: slog.LevelWarn, eventStuck: slog.LevelWarn, eventWatermark: slog.LevelInfo,
	eventFailure: slog.LevelWarn, eventPanic: slog.LevelError, eventDiscard: slog.LevelError,
	eventShutDown: slog.LevelInfo, eventDrain: slog.LevelWarn, eventDropped: slog.LevelWarn,
	eventOutage: slog.LevelWarn, eventRecovery: slog.LevelInfo,
}

func newEventLog(logger *slog.Logger, queue string, items bool) *eventLog {
	if logger == nil {
		return nil
	}
	l := &eventLog{logger: logger, queue: queue, items: items}
	for kind := range l.kinds {
		l.kinds[kind].allowance = rate.NewLimiter(eventRate, eventBurst)
	}
	return l
}

// write writes a line if the logger and the kind's allowance permit it.
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

// item returns the attribute of an item. It is formatted only if it is written.
func (l *eventLog) item(item any) slog.Attr {
	if !l.items {
		return slog.Attr{} // handlers ignore it
	}
	return slog.Any("item", loggedItem{item})
}

const longestLogged = 200 // bytes of an item

type loggedItem struct{ item any }

func (i loggedItem) LogValue() slog.Value {
	return slog.StringValue(keytext.Of(i.item, longestLogged).String())
}

func (l *eventLog) misuse(kind stats.MisuseKind, item any) {
	l.write(context.Background(), eventMisuse, "a call that breaks the rules was ignored",
		slog.String("rule", kind.String()), l.item(item))
}

func (l *eventLog) comparedByAddress(items, part string) {
	l.write(context.Background(), eventMisuse, "items with equal contents may not be deduplicated: == compares an address",
		slog.String("type", items), slog.String("part", part))
}

// stuck and discarded name the item in any case.
func (l *eventLog) stuck(item any, processing time.Duration, attempts int) {
	l.write(context.Background(), eventStuck, "an item is stuck in processing",
		slog.Duration("processing", processing), slog.Int("attempts", attempts), slog.Any("item", loggedItem{item}))
}

// watermark may be called on a nil eventLog.
func (l *eventLog) watermark(high bool) {
	if l == nil {
		return
	}
	text := "the queue is down to its low watermark"
	if high {
		text = "the queue has reached its high watermark"
	}
	l.write(context.Background(), eventWatermark, text)
}

func (l *eventLog) discarded(
	ctx context.Context, item any, attempt int, reason worker.Reason, text string, panicked *worker.PanicError,
) {
	attributes := []slog.Attr{slog.String("reason", reason.String()), slog.Int("attempt", attempt), slog.Any("item", loggedItem{item})}
	if panicked != nil {
		text = "panic: " + text
		attributes = append(attributes, slog.String("stack", string(panicked.Stack)))
	}
	l.write(ctx, eventDiscard, "an item was discarded", append(attributes, slog.String("error", text))...)
}

func (l *eventLog) shutDown(st Stats) {
	l.write(context.Background(), eventShutDown, "the queue is shut down", slog.Int("ready", st.Ready),
		slog.Int("processing", st.Processing), slog.Uint64("dropped", st.Dropped))
}

// drainEndedEarly does not log the drain's error, which lists items.
func (l *eventLog) drainEndedEarly(ctx context.Context, processing, ready, delayed int, cause error) {
	l.write(ctx, eventDrain, "a drain ended early", slog.Int("processing", processing), slog.Int("ready", ready),
		slog.Int("delayed", delayed), slog.Any("error", cause))
}

// droppedAdds writes at once how many adds were dropped, and once a second while
// there are more. A timer ends the second, so that the last ones count, too.
func (l *eventLog) droppedAdds(more uint64) {
	if l.dropped.Add(more); !l.waits.CompareAndSwap(false, true) {
		return
	}
	n := l.dropped.Load()
	time.AfterFunc(time.Second, func() {
		defer func() { _ = recover() }() // of the logger: here it has no caller
		if l.waits.Store(false); l.dropped.Load() > n {
			l.droppedAdds(0)
		}
	})
	l.write(context.Background(), eventDropped, "adds are dropped since the shutdown began", slog.Uint64("dropped", n))
}

// An outage is a run of failed attempts without a success between them, as when
// a service is down. The log has one warning at its beginning, a few while it
// goes on, and one line at its end, whatever the number of failures.
type outage struct {
	mu       sync.Mutex // guards the fields below
	failures int        // since the last success
	began    time.Time  // the first of these
	due      time.Time  // the next warning
	reports  int        // warnings that were due
	outages  uint64     // since the queue was made
}

const outageFailures = 5 // in a row begin an outage

// outagePauses lie between the warnings of an outage. The last one repeats.
var outagePauses = [...]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// An outageNews is what a failure means for the log.
type outageNews int

const (
	single    outageNews = iota // a failure of its own
	begins                      // an outage begins
	continues                   // an outage goes on, and a warning is due
	known                       // an outage goes on
)

type outageStep struct {
	news     outageNews
	failures int
	lasted   time.Duration
}

func (o *outage) fail(now time.Time) outageStep {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures++; o.failures == 1 {
		o.began, o.reports = now, 0
	}
	news := continues
	switch {
	case o.failures < outageFailures:
		return outageStep{single, o.failures, 0}
	case o.failures == outageFailures:
		news = begins
		o.outages++
	case now.Before(o.due):
		return outageStep{known, o.failures, 0}
	}
	o.due = now.Add(outagePauses[min(o.reports, len(outagePauses)-1)])
	o.reports++
	return outageStep{news, o.failures, now.Sub(o.began)}
}

// read returns the number of outages, and the failures of the one that lasts.
func (o *outage) read() (outages uint64, failures int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures >= outageFailures {
		failures = o.failures
	}
	return o.outages, failures
}

func (o *outage) succeed(now time.Time) (was bool, failures int, lasted time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	failures, o.failures = o.failures, 0
	return failures >= outageFailures, failures, now.Sub(o.began)
}

// failure logs a failed attempt, unless an outage is known.
func (l *eventLog) failure(
	ctx context.Context, item any, attempt int, final bool, text string, panicked *worker.PanicError, step outageStep,
) {
	last := []slog.Attr{slog.String("error", text), slog.Int("attempt", attempt), l.item(item)}
	of := []slog.Attr{slog.Int("failures", step.failures), slog.Duration("for", step.lasted.Round(time.Millisecond))}
	if final {
		last = nil // a line of its own has it
	}
	switch {
	case final && step.news == single:
	case !final && panicked != nil:
		l.write(ctx, eventPanic, "a handler panicked", slog.String("panic", text),
			slog.String("stack", string(panicked.Stack)), slog.Int("attempt", attempt), l.item(item))
	case step.news == single:
		l.write(ctx, eventFailure, "an attempt failed", last...)
	case step.news == begins:
		l.write(ctx, eventOutage, "an outage begins: no attempt succeeds", append(of, last...)...)
	case step.news == continues:
		l.write(ctx, eventOutage, "an outage goes on: no attempt succeeds", append(of, last...)...)
	}
}

func (l *eventLog) outageOver(ctx context.Context, failures int, lasted time.Duration) {
	l.write(ctx, eventRecovery, "an outage is over: an attempt has succeeded",
		slog.Int("failures", failures), slog.Duration("for", lasted.Round(time.Millisecond)))
}
