package contract

import "time"

// measured are the ages and the metrics in the simplest form: all durations,
// one by one.
type measured struct {
	retries, backoffs uint64
	// asked has the times since which ready and dirty items have been
	// requested, and begun those since which items have been in processing.
	asked, begun map[string]time.Duration
	// queued, worked and delays are the durations.
	queued, worked, delays []time.Duration
	// frozen says that a shutdown has begun. unfinished and longest are the
	// figures of that moment.
	frozen              bool
	unfinished, longest time.Duration
}

func newMeasured() measured {
	return measured{asked: map[string]time.Duration{}, begun: map[string]time.Duration{}}
}

// stamp notes that an item enters its state. With metrics that is exact, and
// otherwise to the tick.
func (m *model) stamp(e *entry) {
	if e.since = m.now; !m.setup.is("ages", "metrics") {
		e.since = m.tickOf(m.now)
	}
}

// age returns the time from one moment to another.
func age(from, to time.Duration) time.Duration { return max(0, to-from) }

func (m *model) measureBegin(e *entry) { // C33
	m.measured.queued = append(m.measured.queued, age(m.measured.asked[e.item], m.now))
	delete(m.measured.asked, e.item)
	m.measured.begun[e.item] = m.now
}

func (m *model) measureEnd(e *entry) { // C33
	m.measured.worked = append(m.measured.worked, age(m.measured.begun[e.item], m.now))
	delete(m.measured.begun, e.item)
}

// unfinishedAt returns how long the items in processing have been there:
// together, and the longest.
func (m *measured) unfinishedAt(now time.Duration) (together, longest time.Duration) { // C33
	if m.frozen {
		return m.unfinished, m.longest
	}
	for _, at := range m.begun {
		together += age(at, now)
		longest = max(longest, age(at, now))
	}
	return together, longest
}

func (m *measured) freeze(now time.Duration) { // C33
	m.unfinished, m.longest = m.unfinishedAt(now)
	m.frozen = true
}
