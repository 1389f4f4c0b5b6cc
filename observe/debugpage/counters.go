package debugpage

// A counter is a row of the table of counters.
type counter struct {
	// Field is where it is in the report of a queue.
	Title, Field, Meaning string
	Value                 any
}

// Text returns the count as it is shown.
func (c counter) Text() string { return formatValue(asCount, c.Value) }

// counted says what was counted since the queue was made.
func (q queueReport) counted() []counter { return append(q.Counters.list(), q.Values.counted()...) }

func (c counters) list() []counter {
	return []counter{
		{"Added", "counters.added", "adds that asked for a run", c.Added},
		{"Merged", "counters.merged", "adds served by a run that was to come anyway", c.Merged},
		{"Handed out", "counters.handedOut", "items that a Get returned", c.HandedOut},
		{"Done", "counters.done", "items whose processing ended", c.Done},
		{"Retries", "counters.retries", "adds with a delay", c.Retries},
		{"Backed off", "counters.backedOff", "retries that asked the limiter, for work that failed", c.BackedOff},
		{"Fired", "counters.fired", "delays that ended", c.Fired},
		{"Given up", "counters.givenUp", "items that workers gave up", c.GivenUp},
		{"Canceled", "counters.canceled", "calls of Cancel that took something back", c.Canceled},
		{"Exceeded", "counters.exceeded", "items taken in beyond the capacity", c.Exceeded},
		{"Dropped", "counters.dropped", "items refused since the shutdown began, or dropped by it", c.Dropped},
		{"Rejected", "counters.rejected", "items that are not equal to themselves", c.Rejected},
		{"Misused", "counters.misused", "Dones of what was not in processing", c.Misused},
	}
}

// counted likewise says what a Coalescer counted beside its queue of keys.
func (v *values) counted() []counter {
	if v == nil {
		return nil
	}
	return []counter{
		{"Values put", "values.put", "values that were put and taken in", v.Put},
		{"Values merged", "values.merged", "those of them whose key had a pending value", v.Merged},
		{"Values exceeded", "values.exceeded", "times that one came in, came back or grew beyond the capacity", v.Exceeded},
	}
}
