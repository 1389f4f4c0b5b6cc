package debugpage

// A counter is a row of the table of counters.
type counter struct {
	// Field is where the count is in the report of a queue.
	Title, Field, Meaning string
	Value                 any
}

// Text returns the formatted count.
func (c counter) Text() string { return formatValue(asCount, c.Value) }

// counted returns the counters since the queue was created.
func (q queueReport) counted() []counter { return append(q.Counters.list(), q.Values.counted()...) }

func (c counters) list() []counter {
	return []counter{
		{"Added", "counters.added", "adds that requested a run", c.Added},
		{"Deduplicated", "counters.merged", "adds of items that were to run anyway", c.Merged},
		{"Handed out", "counters.handedOut", "items that Get returned", c.HandedOut},
		{"Done", "counters.done", "items whose processing ended", c.Done},
		{"Retries", "counters.retries", "adds with a delay", c.Retries},
		{"Backed off", "counters.backedOff", "retries with a delay from the limiter, because work failed", c.BackedOff},
		{"Expired", "counters.fired", "delays that expired", c.Fired},
		{"Discarded", "counters.givenUp", "items that workers discarded", c.GivenUp},
		{"Canceled", "counters.canceled", "calls of Cancel that withdrew an add", c.Canceled},
		{"Exceeded", "counters.exceeded", "items added beyond the capacity", c.Exceeded},
		{"Dropped", "counters.dropped", "adds after the shutdown began, and items that it dropped", c.Dropped},
		{"Rejected", "counters.rejected", "items that are not equal to themselves", c.Rejected},
		{"Misused", "counters.misused", "Dones of items that were not in processing", c.Misused},
	}
}

// counted returns the counters of a Coalescer's values.
func (v *values) counted() []counter {
	if v == nil {
		return nil
	}
	return []counter{
		{"Values put", "values.put", "values that were put and accepted", v.Put},
		{"Values merged", "values.merged", "those of them whose key had a pending value", v.Merged},
		{"Values exceeded", "values.exceeded", "times that the pending values exceeded the capacity", v.Exceeded},
	}
}
