package shardqtest

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
)

// A Script is a handler that does what the test prescribes for the first
// attempts of each item, and calls the real handler for the others. It is safe
// for concurrent use. The zero Script is NewScript(nil).
type Script[T comparable] struct {
	handle func(ctx context.Context, item T) error

	mu    sync.Mutex
	lines map[T]*Line
}

// NewScript returns a script without prescribed attempts: see [Script.For]. It
// calls handle for all others.
//
// If handle is nil, as in NewScript[string](nil), the others succeed.
func NewScript[T comparable](handle func(ctx context.Context, item T) error) *Script[T] {
	return &Script[T]{handle: handle}
}

// For returns the line of an item, which describes its attempts.
func (s *Script[T]) For(item T) *Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		s.lines = map[T]*Line{}
	}
	if s.lines[item] == nil {
		s.lines[item] = &Line{}
	}
	return s.lines[item]
}

// Handle is the handler, for the options of a pool.
func (s *Script[T]) Handle(ctx context.Context, item T) error {
	if reply, attempt := s.For(item).next(); reply != nil {
		return reply(ctx, attempt)
	}
	if s.handle == nil {
		return nil
	}
	return s.handle(ctx, item)
}

// Attempts returns how often Handle was called with item.
func (s *Script[T]) Attempts(item T) int {
	line := s.For(item)
	line.mu.Lock()
	defer line.mu.Unlock()
	return line.attempts
}

// RequirePlayed fails the test if a described attempt was not made.
func (s *Script[T]) RequirePlayed(t TB) {
	t.Helper()
	s.mu.Lock()
	lines := maps.Clone(s.lines)
	s.mu.Unlock()
	var left strings.Builder
	for item, line := range lines {
		line.mu.Lock()
		if n := len(line.replies) - line.attempts; n > 0 {
			fmt.Fprintf(&left, "\n  %s: %d of %d", written(item), n, len(line.replies))
		}
		line.mu.Unlock()
	}
	if left.Len() > 0 {
		t.Fatalf("shardqtest: the script describes attempts that were not made:%s", left.String())
	}
}

// A Line is the part of a [Script] that describes the attempts of one item. Each
// method describes the next attempt, or several, and returns the line.
type Line struct {
	mu       sync.Mutex
	replies  []func(ctx context.Context, attempt int) error
	attempts int
}

// A ScriptedError is the failure of an attempt that [Line.Fail] describes.
type ScriptedError struct{ Attempt int }

func (e *ScriptedError) Error() string { return fmt.Sprintf("scripted failure %d", e.Attempt) }

// Fail makes the next n attempts fail, each with a [*ScriptedError].
func (l *Line) Fail(n int) *Line {
	if n < 0 {
		panic(fmt.Sprintf("shardqtest: Line.Fail was called with %d: want 0 or more", n))
	}
	for range n {
		l.add(func(_ context.Context, attempt int) error { return &ScriptedError{attempt} })
	}
	return l
}

// Return makes the next attempt return err, which may be nil.
func (l *Line) Return(err error) *Line { return l.add(func(context.Context, int) error { return err }) }

// Panic makes the next attempt panic.
func (l *Line) Panic(value any) *Line {
	return l.add(func(context.Context, int) error { panic(value) })
}

// Goexit makes the next attempt call runtime.Goexit, as a misplaced FailNow does.
func (l *Line) Goexit() *Line {
	return l.add(func(context.Context, int) error {
		runtime.Goexit()
		return nil
	})
}

// Block makes the next attempt wait until its context ends, and return that
// context's error.
func (l *Line) Block() *Line {
	return l.Do(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
}

// Do makes the next attempt call do.
func (l *Line) Do(do func(ctx context.Context) error) *Line {
	if do == nil {
		panic("shardqtest: Line.Do was called with nil: want a function, or use Return(nil) for a success")
	}
	return l.add(func(ctx context.Context, _ int) error { return do(ctx) })
}

func (l *Line) add(reply func(context.Context, int) error) *Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replies = append(l.replies, reply)
	return l
}

func (l *Line) next() (reply func(context.Context, int) error, attempt int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	if l.attempts <= len(l.replies) {
		reply = l.replies[l.attempts-1]
	}
	return reply, l.attempts
}
