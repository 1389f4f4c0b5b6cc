package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shardq/shardq/internal/keytext"
)

// A Handler processes an item. [Options].Handle is one.
type Handler[T any] = func(ctx context.Context, item T) error

// A Middleware returns a handler that does something before or after next. [New]
// calls it once, and the workers call the handler concurrently.
type Middleware[T any] func(next Handler[T]) Handler[T]

// wrap returns the handler inside the middleware, of which the first is the
// outermost. The faults name each middleware that is nil or returns nil.
func wrap[T any](handle Handler[T], use []Middleware[T]) (_ Handler[T], faults []error) {
	for i := len(use) - 1; i >= 0; i-- {
		if use[i] == nil {
			faults = append(faults, faultOfUse(i, "is nil, or TimeoutOf(nil): want a function"))
		} else if handle != nil {
			if handle = use[i](handle); handle == nil {
				faults = append(faults, faultOfUse(i, "returned nil: want a handler"))
			}
		}
	}
	return handle, faults
}

func faultOfUse(i int, what string) error {
	return fmt.Errorf("worker: Options.Use[%d] %s", i, what)
}

// TimeoutOf returns a middleware that ends the context of an attempt after a
// time that depends on the item, unless timeout returns 0 or less. The function
// timeout must be safe for concurrent use.
func TimeoutOf[T any](timeout func(item T) time.Duration) Middleware[T] {
	if timeout == nil {
		return nil
	}
	return func(next Handler[T]) Handler[T] {
		return func(ctx context.Context, item T) error {
			limit := timeout(item)
			if limit <= 0 {
				return next(ctx, item)
			}
			// The error of the context would be the same after a deadline of
			// the parent. Only this timer has this cause.
			over := &timeIsOver{context.DeadlineExceeded}
			ctx, release := context.WithTimeoutCause(ctx, limit, over)
			defer release()
			err := next(ctx, item)
			if context.Cause(ctx) == error(over) && errors.Is(err, context.DeadlineExceeded) {
				return &timedOut{err}
			}
			return err
		}
	}
}

// A timedOut is an error of a handler whose time was over.
type timedOut struct{ error }

func (t *timedOut) Unwrap() error { return t.error }

// A timeIsOver is the cause of the end of a context by one call of a TimeoutOf.
// It is no timedOut, because a handler may return the cause of a context that
// the TimeoutOf of another pool has ended.
type timeIsOver struct{ error }

func (t *timeIsOver) Unwrap() error { return t.error }

// LogOptions configure [Log].
type LogOptions struct {
	Logger   *slog.Logger // If nil, it is [slog.Default] at the time of the line.
	Level    slog.Level   // of an attempt that succeeds; one that fails is a warning
	LogItems bool         // writes at most 200 bytes of the item
}

// Log returns a middleware that logs each attempt when it ends. Unlike a
// queue's Logger, it logs what succeeds as well, and suppresses no line.
func Log[T any](options LogOptions) Middleware[T] {
	return func(next Handler[T]) Handler[T] {
		return func(ctx context.Context, item T) error {
			began, err := time.Now(), errNoReturn
			defer func() { logAttempt(ctx, &options, item, began, err) }() // also if the handler panics
			err = next(ctx, item)
			return err
		}
	}
}

// errNoReturn is the error of a handler that has not returned. Recovering the
// panic would lose its stack for the pool.
var errNoReturn = errors.New("the handler panicked or called runtime.Goexit")

func logAttempt[T any](ctx context.Context, o *LogOptions, item T, began time.Time, err error) {
	text, level := "worker: an attempt succeeded", o.Level
	if _, requeued := RequeueDelay(err); requeued {
		text = "worker: an attempt asked for another"
	} else if cause := Interrupted(ctx, err); cause != nil {
		text, err = "worker: an attempt was interrupted", cause
	} else if err != nil {
		text, level = "worker: an attempt failed", slog.LevelWarn
	}
	logger := cmp.Or(o.Logger, slog.Default())
	if !logger.Enabled(ctx, level) {
		return
	}
	attributes := make([]slog.Attr, 0, 5)
	if a, ok := AttemptOf[T](ctx); ok {
		attributes = append(attributes, slog.String("queue", a.Queue()), slog.Int("attempt", a.Number()))
	}
	attributes = append(attributes, slog.Duration("duration", time.Since(began)))
	if err != nil {
		attributes = append(attributes, slog.String("error", keytext.OfError(err)))
	}
	if o.LogItems {
		attributes = append(attributes, slog.String("item", keytext.Of(item, 200).String()))
	}
	logger.LogAttrs(ctx, level, text, attributes...)
}
