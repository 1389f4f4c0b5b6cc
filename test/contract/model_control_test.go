package contract

import (
	"context"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// What the model knows of AddWith, Cancel, room, watermarks and drains that end.

func (m *modelQueue[T]) addWith(item T, o shardq.AddOptions) {
	filed, waits := m.waiting[item]
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
		m.wait(item, deadline, o.MaxWait)
	case waits && (o.Policy == shardq.KeepOld || o.Policy == shardq.KeepLatest):
		m.wait(item, filed, o.MaxWait)
	default:
		m.enter(item)
		m.stopWaiting(item)
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

// wait sets the deadline of an item, within the earliest of its limits.
func (m *modelQueue[T]) wait(item T, deadline, within time.Duration) {
	if within > 0 {
		limit, limited := m.limits[item]
		if m.limits[item] = m.deadline(within); limited {
			m.limits[item] = min(limit, m.limits[item])
		}
	}
	if limit, limited := m.limits[item]; limited {
		deadline = min(deadline, limit)
	}
	if _, waits := m.waiting[item]; !waits && m.phase[item] == "" {
		m.stamp(item, m.tickOf(m.now))
	}
	m.waiting[item] = deadline
}

func (m *modelQueue[T]) cancel(item T) (was shardq.Canceled) {
	_, was.Waiting = m.waiting[item]
	m.stopWaiting(item)
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

// A modelRoom is what there is room for, and who waits for it.
type modelRoom[T comparable] struct {
	capacity int // 0: no bound
	line     []*pending[T]
	marks    marks
	isHigh   bool
	told     []bool
}

// A pending call is one that may wait: on the one side what the queue did, on the other
// what it should.
type pending[T comparable] struct {
	cancel context.CancelFunc
	item   T                    // of an AddContext
	policy shardq.WaitingPolicy // of a Drain
	// retries: the Drain is to take retries in, and does.
	retries bool

	// What the queue did: under the player's lock.
	returned bool
	err      error
	dropped  []T

	// What it should have done.
	ended       bool
	wantErr     error
	wantDropped []T
	shared      *sharedDrop[T] // if it may have returned more
}

// A sharedDrop is what a shutdown dropped although several drains awaited it: one of them
// returns it, and chance decides which.
type sharedDrop[T comparable] struct {
	want, got []T
	left      int // how many of the drains have not returned
}

func (w *pending[T]) end(err error) { w.ended, w.wantErr = true, err }

// holds reports whether the queue holds an item, in whatever state.
func (m *modelQueue[T]) holds(item T) bool {
	_, waits := m.waiting[item]
	return waits || m.phase[item] != ""
}

// held returns how many items it holds.
func (m *modelQueue[T]) held() int {
	held := len(m.phase)
	for item := range m.waiting {
		if m.phase[item] == "" {
			held++
		}
	}
	return held
}

// enter counts an item that is taken in without asking for room.
func (m *modelQueue[T]) enter(item T) {
	if bound := m.room.capacity; bound > 0 && !m.holds(item) && m.held() >= bound {
		m.stats.Exceeded++
	}
}

func (m *modelQueue[T]) tryAdd(item T) error {
	bound := m.room.capacity
	switch {
	case item != item:
		m.reject(item)
		return shardq.ErrRejected
	case m.refusing:
		m.stats.Dropped++
		return shardq.ErrShutDown
	case bound > 0 && !m.holds(item) && (m.held() >= bound || len(m.room.line) > 0):
		return shardq.ErrFull
	}
	m.admit(item)
	return nil
}

func (m *modelQueue[T]) addContext(w *pending[T]) {
	if err := m.tryAdd(w.item); err != shardq.ErrFull {
		w.end(err)
	} else {
		m.room.line = append(m.room.line, w)
	}
}

// letIn lets in those for whom there is room. Those of one line come as a tie: each adds
// its item in its own time.
func (m *modelQueue[T]) letIn() {
	ties := map[int]tie[T]{}
	for len(m.room.line) > 0 && m.held() < m.room.capacity {
		w := m.room.line[0]
		m.room.line = m.room.line[1:]
		w.end(nil)
		if m.cancelDelayOnAdd {
			m.stopWaiting(w.item)
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

// lookAtMarks tells of the watermark that the number of items has come to.
func (m *modelQueue[T]) lookAtMarks() {
	r, held := &m.room, m.held()
	if r.marks.high > 0 && (r.isHigh && held <= r.marks.low || !r.isHigh && held >= r.marks.high) {
		r.isHigh = !r.isHigh
		r.told = append(r.told, r.isHigh)
	}
}

// refuse drops adds from now on, but for retries if the first end takes them, and sends
// away those who wait for room.
func (m *modelQueue[T]) refuse(retries bool) {
	m.measureEndOfUpdates()
	m.retries = retries && (m.retries || !m.refusing)
	m.refusing = true
	for _, w := range m.room.line {
		w.end(shardq.ErrShutDown)
	}
	m.room.line = nil
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

// share has the drains that are pending return the items, whichever does.
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
		case shardq.RunWaiting:
			m.fireUntil(endOfTime, func(time.Duration) time.Duration { return m.now })
		case shardq.DropWaiting:
			w.wantDropped = m.dropWaiting()
		}
		return
	}
	switch w.policy {
	case shardq.RunWaiting:
		m.fireUntil(endOfTime, func(time.Duration) time.Duration { return m.now })
		m.close()
	case shardq.DropWaiting:
		w.wantDropped = m.close()
	}
}

// endWaitingDrains is what a ShutDown does to them: there is nothing more to wait for, or
// they give up.
func (m *modelQueue[T]) endWaitingDrains() {
	if len(m.phase) == 0 {
		m.drain.end(nil)
	} else {
		m.drain.end(shardq.ErrShutDown)
	}
}

// closeAwaited closes the queue if a Drain has awaited what waited.
func (m *modelQueue[T]) closeAwaited() {
	awaits := func(w *pending[T]) bool { return w.policy == shardq.AwaitWaiting && !w.retries }
	if !m.closed && m.held() == 0 && slices.ContainsFunc(m.drain.pending, func(w *pending[T]) bool { return w.retries }) {
		m.close()
	}
	if !m.closed && len(m.waiting) == 0 && slices.ContainsFunc(m.drain.pending, awaits) {
		m.close()
	}
}

// rest does what follows from a call once it is over.
func (m *modelQueue[T]) rest() {
	m.letIn()
	m.lookAtMarks()
	m.closeAwaited()
	m.endDrains()
}

// states returns the items in a state.
func (m *modelQueue[T]) states(state shardq.ItemState) (items []T) {
	for item, phase := range m.phase {
		if state != shardq.Waiting && (phase == "ready") == (state == shardq.Ready) {
			items = append(items, item)
		}
	}
	for item := range m.waiting {
		if state == shardq.Waiting && m.phase[item] == "" {
			items = append(items, item)
		}
	}
	return items
}
