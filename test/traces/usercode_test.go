package traces

import (
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// userCode is the user's part of a queue: a limiter, a hash function, a misuse
// hook, a clock. Each call of it calls the queue, which would hang if the queue
// held a lock. Each call panics while its piece is broken.
type userCode struct {
	use    func()
	broken map[string]bool
}

// pieces are the pieces of user code that can break.
var pieces = []string{"limiter", "hash", "hook", "clock"}

// called must be called by each call of a piece.
func (u *userCode) called(piece string) {
	if u.broken[piece] {
		panic("the " + piece + " is broken")
	}
	u.use()
}

type userLimiter[T comparable] struct {
	limiter.Limiter[T]
	code *userCode
}

func (l userLimiter[T]) When(item T) time.Duration {
	l.code.called("limiter")
	return l.Limiter.When(item)
}

func (l userLimiter[T]) Forget(item T) {
	l.code.called("limiter")
	l.Limiter.Forget(item)
}

func (l userLimiter[T]) NumRequeues(item T) int {
	l.code.called("limiter")
	return l.Limiter.NumRequeues(item)
}

// A userClock still returns the time while it is broken. It panics when a timer
// is set or stopped.
type userClock struct {
	clock.Clock
	code *userCode
}

func (c userClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.code.called("clock")
	return userTimer{c.Clock.AfterFunc(d, f), c.code}
}

type userTimer struct {
	clock.Timer
	code *userCode
}

func (t userTimer) Reset(d time.Duration) bool {
	t.code.called("clock")
	return t.Timer.Reset(d)
}

func (t userTimer) Stop() bool {
	t.code.called("clock")
	return t.Timer.Stop()
}
