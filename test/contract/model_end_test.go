package contract

import (
	"context"
	"slices"
	"time"

	"github.com/shardq/shardq"
)

// A pending call is one that may block, with what the queue did and what it
// must do.
type pending struct {
	cancel canceler
	call   string            // in Go
	clause string            // which says when it returns
	item   string            // of an AddContext
	add    shardq.AddOptions // of an AddContext
	// panicked says that user code has panicked in an AddContext after its wait,
	// and accepted that the item is in.
	panicked, accepted bool
	policy             int // of the group, when an AddContext began
	drain              shardq.DrainOptions
	// deadline is that of a Drain's context, or 0.
	deadline time.Duration

	*deed // what the queue did

	// These fields are what it must have done.
	ended       bool
	mayEnd      bool // it may have returned nil, or not
	wantErr     error
	wantDropped []string
	shared      *sharedDrop // if it may have returned more
}

// A deed is how a call has ended. It is under the player's lock.
type deed struct {
	returned bool
	err      error
	dropped  []string
}

// A sharedDrop has the items that a shutdown dropped while several drains
// awaited them. One of the drains returns them, and chance decides which.
type sharedDrop struct {
	want, got []string
	left      int // how many of the drains have not returned
}

func (w *pending) end(err error) { w.ended, w.wantErr = true, err }

func (w *pending) acceptsRetries() bool { return w.drain.Retries == shardq.AcceptRetries }

func endAll(calls *[]*pending, err error) {
	for _, w := range *calls {
		w.end(err)
	}
	*calls = nil
}

// bounds are the capacity with its waiters, and the watermarks.
type bounds struct {
	waiters  []*pending
	isHigh   bool
	reported []bool
}

// hasRoom reports whether TryAdd finds room for another item.
func (m *model) hasRoom() bool { // C40
	return m.counts.Capacity == 0 || m.held() < m.counts.Capacity && len(m.bounds.waiters) == 0
}

// addContext begins a call of AddContext.
func (m *model) addContext(w *pending) { // C40, C79
	w.policy = m.policy[groupOf(w.item)]
	if w.add.RateLimited {
		w.add.After = max(w.add.After, m.backoff(w.item))
	}
	m.moment++
	switch err := m.refusal(w.item, w.add, true); err {
	case nil:
		m.accept(w.item, w.add, true)
		w.end(nil)
	case shardq.ErrFull:
		m.bounds.waiters = append(m.bounds.waiters, w)
	default:
		w.end(err)
	}
}

// admit admits as many waiters as have room, at once.
func (m *model) admit() (admitted int) { // C40
	m.moment++
	for len(m.bounds.waiters) > 0 && m.held() < m.counts.Capacity {
		w := m.bounds.waiters[0]
		m.bounds.waiters = m.bounds.waiters[1:]
		if w.panicked && !w.accepted {
			w.end(errInjected)
			continue
		}
		err := m.refusal(w.item, w.add, false)
		if err == nil {
			name := groupOf(w.item)
			latest := m.policy[name]
			if w.panicked { // so it was not asked again
				m.policy[name] = w.policy
			}
			m.accept(w.item, w.add, true)
			if m.policy[name] = latest; m.grouped() && !w.panicked {
				m.refreshGroup(name)
			}
			admitted++
		}
		if w.panicked {
			err = errInjected
		}
		w.end(err)
	}
	return admitted
}

// crossMarks reports the watermark that the number of items has reached.
func (m *model) crossMarks(low, high int) { // C41
	b, held := &m.bounds, m.held()
	if high > 0 && (b.isHigh && held <= low || !b.isHigh && held >= high) {
		b.isHigh = !b.isHigh
		b.reported = append(b.reported, b.isHigh)
	}
}

// ends are how far a shutdown has come, and the calls that wait for it.
type ends struct {
	phase endPhase
	// retries says, while draining, that adds of items in processing are
	// accepted. The first end decides, and later ones can only stop that.
	retries bool
	// leaving says that ShutDown was called: nobody waits for what is paused.
	leaving bool
	// discarding says that ShutDown has dropped what was ready.
	discarding bool
	// stopped says that the queue cannot get a rate any more.
	stopped bool
	// plain are the calls of ShutDownWithDrain, drains those of Drain, and
	// idlers those of WaitIdle.
	plain, drains, idlers []*pending
}

type endPhase string

const (
	queueOpen     endPhase = "open"
	queueDraining endPhase = "draining" // adds are dropped, delays run on
	queueClosed   endPhase = "closed"   // and nothing is delayed
)

// idle is called when the queue holds nothing, for a moment at least. If an
// item comes in at once, a WaitIdle may miss the moment.
func (e *ends) idle() { // C59
	for _, w := range e.idlers {
		w.mayEnd = true
	}
}

// takesBack reports whether an item may be added though a shutdown has begun.
func (m *model) takesBack(e *entry) bool { return m.ends.retries && e.inFlight() }

// refuse drops adds from now on, except retries if the first end accepts them,
// and ends the waits for capacity.
func (m *model) refuse(retries bool) { // C10
	if m.ends.phase == queueOpen {
		m.ends.phase = queueDraining
		m.measured.freeze(m.now)
		m.ends.retries = retries
		clear(m.windows)
	}
	m.ends.retries = m.ends.retries && retries
	endAll(&m.bounds.waiters, shardq.ErrShutDown)
}

// close ends the queue, and returns the items that it dropped.
func (m *model) close() (dropped []string) { // C13
	m.refuse(false)
	if m.ends.phase != queueClosed {
		m.ends.stopped = !m.grouped() && !m.gate.limits()
	}
	m.ends.phase = queueClosed
	return m.dropDelayed()
}

func (m *model) dropDelayed() (dropped []string) { // C13, C28
	serving := slices.DeleteFunc(m.delayed(), func(item string) bool { return !m.entry(item).serves || m.ends.discarding })
	m.disordered = m.disordered || len(serving) > 1 && m.prioritized && m.interval() > 0 // see expire: their order is unknown
	for _, e := range m.items {
		switch {
		case e.serves && !m.ends.discarding:
			priority := e.delayPriority
			m.stopDelay(e)
			m.add(e, priority, false, false)
		case e.delayed:
			dropped = append(dropped, e.item)
			m.counts.Dropped++
			m.stopDelay(e)
			m.forgetIfGone(e)
		}
	}
	return dropped
}

func (m *model) delayed() (items []string) {
	for _, e := range m.items {
		if e.delayed {
			items = append(items, e.item)
		}
	}
	return items
}

// abandon ends the drains that await items which are about to be dropped. One
// of them returns the items.
func (m *model) abandon() { // C42
	items := slices.DeleteFunc(m.delayed(), func(item string) bool { return m.entry(item).serves && !m.ends.discarding })
	if len(items) == 0 {
		return
	}
	shared := &sharedDrop{want: items, left: len(m.ends.drains)}
	for _, w := range m.ends.drains {
		shared.want = append(shared.want, w.wantDropped...)
		w.shared = shared
	}
	endAll(&m.ends.drains, shardq.ErrShutDown)
}

func (m *model) shutDown() { // C11, C63
	m.moment++
	m.ends.leaving, m.ends.discarding = true, m.setup.is("discard on shutdown", "yes")
	m.abandon()
	m.close()
	if m.ends.discarding {
		for _, e := range m.items {
			if e.phase == ready {
				m.counts.Dropped++
				m.withdraw(e)
			}
		}
	}
	endAll(&m.ends.plain, nil)
	if m.inPhase(idle) == len(m.items) {
		endAll(&m.ends.drains, nil)
	} else {
		endAll(&m.ends.drains, shardq.ErrShutDown)
	}
}

func (m *model) shutDownWithDrain(w *pending) { // C12
	m.moment++
	m.abandon()
	m.close()
	m.ends.plain = append(m.ends.plain, w)
}

func (m *model) startDrain(w *pending) { // C42
	m.moment++
	m.refuse(w.acceptsRetries())
	if w.acceptsRetries() && !m.ends.retries {
		w.drain.Retries = shardq.RefuseRetries
	}
	m.ends.drains = append(m.ends.drains, w)
	switch {
	case w.drain.Delayed == shardq.RunDelayed:
		m.expire(func(*entry) bool { return true })
	case w.drain.Delayed == shardq.AwaitDelayed:
	case w.acceptsRetries():
		w.wantDropped = m.dropDelayed()
	}
	if w.drain.Delayed != shardq.AwaitDelayed && !w.acceptsRetries() {
		w.wantDropped = m.close()
	}
}

func (m *model) waitIdle(w *pending) { // C59
	if m.held() == 0 {
		w.end(nil)
	} else {
		m.ends.idlers = append(m.ends.idlers, w)
	}
}

// settleEnds ends the calls that have nothing left to wait for.
func (m *model) settleEnds() { // C12, C42
	if m.held() == 0 {
		endAll(&m.ends.idlers, nil)
	}
	retries := slices.ContainsFunc(m.ends.drains, (*pending).acceptsRetries)
	awaits := slices.ContainsFunc(m.ends.drains, func(w *pending) bool {
		return w.drain.Delayed == shardq.AwaitDelayed && !w.acceptsRetries()
	})
	if m.ends.phase == queueDraining && (retries && m.held() == 0 || awaits && len(m.delayed()) == 0) {
		m.close()
	}
	if m.ends.phase == queueClosed && m.inPhase(idle) == len(m.items) {
		endAll(&m.ends.plain, nil)
		endAll(&m.ends.drains, nil)
	}
	m.endStill()
}

// endStill ends the drains before whose deadlines nothing can be handed out.
func (m *model) endStill() { // C42
	m.ends.drains = slices.DeleteFunc(m.ends.drains, func(w *pending) bool {
		ends := w.deadline > 0 && (w.deadline <= m.now || m.still(w.deadline))
		if ends {
			w.end(context.DeadlineExceeded)
		}
		return ends
	})
}

// still reports whether nothing is in processing, and nothing can be handed out
// until a moment without a call.
func (m *model) still(until time.Duration) bool { // C42
	switch {
	case m.inPhase(processing, dirty) > 0:
		return false
	case m.gate.paused, m.gate.limits() && m.gate.opens() > until:
		return true
	}
	for _, l := range m.lines {
		if l.state == selectable || l.state == throttled && l.review <= until {
			return false
		}
	}
	return m.count(func(e *entry) bool { return e.delayed && e.deadline <= until }) == 0
}

// mayLeave reports whether a Get that finds nothing to hand out returns the
// shutdown. It waits for what is throttled, except for pauses after ShutDown.
func (m *model) mayLeave() bool { // C10, C68
	if m.ends.phase != queueClosed {
		return false
	}
	if m.ends.leaving && m.gate.paused {
		return true
	}
	for _, l := range m.lines {
		if l.state == selectable {
			return false
		}
		if l.state == throttled && !(m.ends.leaving && l.paused) {
			return false
		}
	}
	return true
}
