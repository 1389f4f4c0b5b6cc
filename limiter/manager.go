package limiter

import (
	"sync"
	"time"
)

// A Manager shares a [Backoff] among callers, such as all clients of one
// server, and restarts it after a quiet period. Each call of Step advances the
// Backoff for all callers. A Manager must be made by [NewManager] and must not
// be copied. All methods are safe for concurrent use.
type Manager struct {
	initial Backoff
	options Options
	idle    idleness

	mu      sync.Mutex // guards the fields below; no user code runs under it
	current Backoff
	ends    instant // when the Backoff restarts
}

// NewManager returns a Manager of the backoff. [Manager.Reset] restarts the
// backoff, so that the next delay is the initial one. So does a quiet period,
// of [Options].ForgetAfter without a call of Step. It begins when all returned
// delays have expired, so delays may be longer than the quiet period. Package
// wait measures it from the last call instead.
//
// NewManager reads ForgetAfter, Clock, and Random if there is jitter.
//
// If ForgetAfter is zero, only Reset restarts the backoff.
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

// Reset restarts the backoff: the next delay is the initial one.
func (m *Manager) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = m.initial
}
