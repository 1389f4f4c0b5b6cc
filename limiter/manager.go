package limiter

import (
	"context"
	"sync"
	"time"
)

// A Manager shares a [Backoff] among callers, such as all clients of one
// server, and restarts it after a quiet period. It must be made by [NewManager].
// All methods are safe for concurrent use.
type Manager struct {
	initial Backoff
	options Options
	idle    idleness

	mu      sync.Mutex // guards the fields below; no user code runs under it
	current Backoff
	ends    time.Duration // when the Backoff restarts
}

// NewManager returns a Manager of the backoff, which a quiet period of
// [Options].ForgetAfter restarts. NewManager also reads Clock and Random.
func NewManager(backoff Backoff, options ...Options) *Manager {
	o := combine(options)
	return &Manager{initial: backoff, options: o, idle: newIdleness(o), current: backoff}
}

// Step returns the next delay and advances the Backoff for all callers.
func (m *Manager) Step() time.Duration {
	var random float64
	if m.initial.jittered() {
		random = unit(m.options.Random())
	}
	now := m.idle.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.idle.over(now, m.ends) {
		m.current = m.initial
	}
	delay := m.current.step(random)
	m.ends = max(m.ends, m.idle.end(now, delay))
	return delay
}

// Reset restarts the backoff: the next delay is the initial one.
func (m *Manager) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = m.initial
}

// Counting selects the point from which [Loop] measures a delay.
type Counting int

const (
	// FromEnd measures from the end of a run, as package wait's sliding.
	FromEnd Counting = iota
	// FromStart measures from the start of a run.
	FromStart
)

// Loop calls run on this goroutine until ctx ends. Between two runs it waits
// for a delay of the manager, by the manager's clock.
func Loop(ctx context.Context, manager *Manager, counting Counting, run func(context.Context)) {
	clock := manager.options.Clock
	over := make(chan struct{}, 1) // has room for a signal that no wait receives
	for ctx.Err() == nil {
		started := clock.Now()
		run(ctx)
		delay := manager.Step()
		if counting == FromStart {
			delay -= max(clock.Now().Sub(started), 0) // the clock may be set back
		}
		if delay <= 0 {
			continue
		}
		timer := clock.AfterFunc(delay, func() { over <- struct{}{} })
		select {
		case <-over:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
