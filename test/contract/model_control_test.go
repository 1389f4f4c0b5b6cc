package contract

import (
	"context"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// This file has what the model knows of AddWith, Cancel, capacity, watermarks
// and drains that end.

func (m *modelQueue[T]) addWith(item T, o shardq.AddOptions) {
	filed, waits := m.delayed[item]
	switch {
	case o.After <= 0 && o.Policy == shardq.KeepEarliest:
		m.add(item)
	case item != item:
		m.reject(item)
	case m.drops(item):
		m.stats.Dropped++
	case o.After > 0:
		m.enter(item)
		m.measured.delays = append(m.measured.delays, o.After)
		deadline := m.deadline(o.After)
		if waits {
			deadline = chosen(o.Policy, filed, deadline)
		}
		m.delay(item, deadline, o.MaxWait)
	case waits && (o.Policy == shardq.KeepOld || o.Policy == shardq.KeepLatest):
		m.delay(item, filed, o.MaxWait)
	default:
		m.enter(item)
		m.stopDelay(item)
		m.admit(item)
	}
}

// chosen returns which of two deadlines counts.
func chosen(policy shardq.DelayPolicy, filed, given time.Duration) time.Duration {
	return map[shardq.DelayPolicy]time.Duration{
		shardq.KeepEarliest: min(filed, given),
		shardq.KeepLatest:   max(filed, given),
		shardq.KeepNew:      given,
		shardq.KeepOld:      filed,
	}[policy]
}

// delay sets the deadline of an item, within the earliest of its limits.
func (m *modelQueue[T]) delay(item T, deadline, within time.Duration) {
	if within > 0 {
		limit, limited := m.limits[item]
		if m.limits[item] = m.deadline(within); limited {
			m.limits[item] = min(limit, m.limits[item])
		}
	}
	if limit, limited := m.limits[item]; limited {
		deadline = min(deadline, limit)
	}
	if _, waits := m.delayed[item]; !waits && m.phase[item] == "" {
		m.stamp(item, m.tickOf(m.now))
	}
	m.delayed[item] = deadline
}

func (m *modelQueue[T]) cancel(item T) (was shardq.Canceled) {
	_, was.Delayed = m.delayed[item]
	m.stopDelay(item)
	switch m.phase[item] {
	case "ready":
		was.Ready = true
		delete(m.phase, item)
		delete(m.measured.asked, item)
		m.withdraw(item)
	case "dirty":
		was.Dirty = true
		m.phase[item] = "processing"
		delete(m.measured.asked, item)
	}
	if was.Any() {
		m.stats.Canceled++
	}
	return was
}

// withdraw takes a ready item out of its line.
func (m *modelQueue[T]) withdraw(item T) {
	line := m.lineOf(item)
	for i, items := range m.lines[line] {
		if at := slices.Index(items, item); at >= 0 {
			m.lines[line][i] = slices.Delete(items, at, at+1)
		}
	}
	m.lines[line] = slices.DeleteFunc(m.lines[line], func(t tie[T]) bool { return len(t) == 0 })
}

// modelBounds are the capacity with its waiters, and the watermarks.
type modelBounds[T comparable] struct {
	capacity int // 0: no limit
	waiters  []*pending[T]
	marks    marks
	isHigh   bool
	reported []bool
}

// A pending call is one that may block, with what the queue did and what it
// must do.
type pending[T comparable] struct {
	cancel context.CancelFunc
	item   T                    // of an AddContext
	policy shardq.DelayedPolicy // of a Drain
	// retries says that the Drain accepts retries.
	retries bool

	// These fields are what the queue did. They are under the player's lock.
	returned bool
	err      error
	dropped  []T

	// These fields are what it must have done.
	ended       bool
	wantErr     error
	wantDropped []T
	shared      *sharedDrop[T] // if it may have returned more
}

// A sharedDrop has the items that a shutdown dropped while several drains
// awaited them. One of the drains returns them, and chance decides which.
type sharedDrop[T comparable] struct {
	want, got []T
	left      int // how many of the drains have not returned
}

func (w *pending[T]) end(err error) { w.ended, w.wantErr = true, err }

// holds reports whether the queue holds an item, in any state.
func (m *modelQueue[T]) holds(item T) bool {
	_, waits := m.delayed[item]
	return waits || m.phase[item] != ""
}

// held returns the number of items that the queue holds.
func (m *modelQueue[T]) held() int {
	held := len(m.phase)
	for item := range m.delayed {
		if m.phase[item] == "" {
			held++
		}
	}
	return held
}

// enter counts an item that is added beyond the capacity.
func (m *modelQueue[T]) enter(item T) {
	if bound := m.bounds.capacity; bound > 0 && !m.holds(item) && m.held() >= bound {
		m.stats.OverCapacity++
	}
}

func (m *modelQueue[T]) tryAdd(item T) error {
	err := m.refusal(item)
	if err == nil {
		m.admit(item)
	}
	return err
}

// refusal returns why TryAdd refuses an item, or nil. It counts a refusal.
func (m *modelQueue[T]) refusal(item T) error {
	bound := m.bounds.capacity
	switch {
	case item != item:
		m.reject(item)
		return shardq.ErrRejected
	case m.refusing:
		m.stats.Dropped++
		return shardq.ErrShutDown
	case bound > 0 && !m.holds(item) && (m.held() >= bound || len(m.bounds.waiters) > 0):
		return shardq.ErrFull
	}
	return nil
}

func (m *modelQueue[T]) addContext(w *pending[T]) {
	if err := m.tryAdd(w.item); err != shardq.ErrFull {
		w.end(err)
	} else {
		m.bounds.waiters = append(m.bounds.waiters, w)
	}
}

// admitWaiters admits as many waiters as fit into the capacity. The items of
// one line are a tie, because each waiter adds its item in its own time.
func (m *modelQueue[T]) admitWaiters() {
	ties := map[int]tie[T]{}
	for len(m.bounds.waiters) > 0 && m.held() < m.bounds.capacity {
		w := m.bounds.waiters[0]
		m.bounds.waiters = m.bounds.waiters[1:]
		w.end(nil)
		if m.cancelDelayOnAdd {
			m.stopDelay(w.item)
		}
		if m.demand(w.item, m.now) {
			line := m.lineOf(w.item)
			ties[line] = append(ties[line], w.item)
			m.stamp(w.item, m.now)
		}
	}
	for _, items := range ties {
		m.queue(items)
	}
}

// crossMarks reports the watermark that the number of items has reached.
func (m *modelQueue[T]) crossMarks() {
	r, held := &m.bounds, m.held()
	if r.marks.high > 0 && (r.isHigh && held <= r.marks.low || !r.isHigh && held >= r.marks.high) {
		r.isHigh = !r.isHigh
		r.reported = append(r.reported, r.isHigh)
	}
}

// refuse drops adds from now on, except retries if the first end accepts them,
// and ends the waits for capacity.
func (m *modelQueue[T]) refuse(retries bool) {
	m.measureEndOfUpdates()
	m.retries = retries && (m.retries || !m.refusing)
	m.refusing = true
	for _, w := range m.bounds.waiters {
		w.end(shardq.ErrShutDown)
	}
	m.bounds.waiters = nil
}

// modelDrains are the calls of Drain that have not returned.
type modelDrains[T comparable] struct{ pending []*pending[T] }

// end ends them all.
func (d *modelDrains[T]) end(err error) {
	for _, w := range d.pending {
		w.end(err)
	}
	d.pending = nil
}

// share lets one of the pending drains return the items.
func (d *modelDrains[T]) share(items []T) {
	shared := &sharedDrop[T]{want: items, left: len(d.pending)}
	for _, w := range d.pending {
		shared.want = append(shared.want, w.wantDropped...)
		w.shared = shared
	}
}

func (m *modelQueue[T]) startDrain(w *pending[T]) {
	m.refuse(w.retries)
	w.retries = w.retries && m.retries
	m.drain.pending = append(m.drain.pending, w)
	if w.retries {
		switch w.policy {
		case shardq.RunDelayed:
			m.expireUntil(endOfTime, func(time.Duration) time.Duration { return m.now })
		case shardq.DropDelayed:
			w.wantDropped = m.dropDelayed()
		}
		return
	}
	switch w.policy {
	case shardq.RunDelayed:
		m.expireUntil(endOfTime, func(time.Duration) time.Duration { return m.now })
		m.close()
	case shardq.DropDelayed:
		w.wantDropped = m.close()
	}
}

// endPendingDrains ends the pending drains at a ShutDown, with an error if
// something is left.
func (m *modelQueue[T]) endPendingDrains() {
	if len(m.phase) == 0 {
		m.drain.end(nil)
	} else {
		m.drain.end(shardq.ErrShutDown)
	}
}

// closeAwaited closes the queue if a Drain has awaited the delayed items.
func (m *modelQueue[T]) closeAwaited() {
	awaits := func(w *pending[T]) bool { return w.policy == shardq.AwaitDelayed && !w.retries }
	if !m.closed && m.held() == 0 && slices.ContainsFunc(m.drain.pending, func(w *pending[T]) bool { return w.retries }) {
		m.close()
	}
	if !m.closed && len(m.delayed) == 0 && slices.ContainsFunc(m.drain.pending, awaits) {
		m.close()
	}
}

// rest does what follows from a call after it has returned.
func (m *modelQueue[T]) rest() {
	m.admitWaiters()
	m.crossMarks()
	m.closeAwaited()
	m.endDrains()
}

// states returns the items in a state.
func (m *modelQueue[T]) states(state stats.State) (items []T) {
	for item, phase := range m.phase {
		if state != stats.Delayed && (phase == "ready") == (state == stats.Ready) {
			items = append(items, item)
		}
	}
	for item := range m.delayed {
		if state == stats.Delayed && m.phase[item] == "" {
			items = append(items, item)
		}
	}
	return items
}
