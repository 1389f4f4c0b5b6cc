package limiter

import (
	"sync"
	"time"
)

// A Manager follows a [Backoff] for whoever shares it, say all who talk to one
// server, and starts over when things have been quiet. It must be made by
// [NewManager] and must not be copied. All its methods are safe for concurrent
// use; each call of Step by anybody moves the Backoff on for all.
type Manager struct {
	initial Backoff
	options Options
	idle    idleness

	mu      sync.Mutex // guards the fields below; only this package's code runs under it
	current Backoff
	ends    instant // when to start over
}

// NewManager returns a Manager of the backoff. It starts over, that is, its next
// delay is the initial one again, after a quiet period of [Options].ForgetAfter
// in which no delay was asked for, and by [Manager.Reset]. The quiet period
// begins when all delays that were returned have passed: a Manager whose delays
// are longer than its quiet period works too. (Package wait counts it from when
// a delay was asked for.) Without ForgetAfter it starts over by Reset alone.
//
// It reads ForgetAfter, Clock, and if there is jitter Random.
func NewManager(backoff Backoff, options ...Options) *Manager {
	o := combine(options)
	return &Manager{initial: backoff, options: o, idle: newIdleness(o), current: backoff}
}

// Step returns the next delay: see [Backoff.Step]. It does not wait.
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

// Reset makes the Manager start over at once: the next delay is the initial one.
func (m *Manager) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = m.initial
}
