package debugpage

// A counter is a row of the table of counters.
type counter struct {
	// Title is the row's title, and Field the place of the count in a report.
	Title, Field, Meaning string
	Value                 any
}

// Text returns the formatted count.
func (c counter) Text() string { return formatValue(asCount, c.Value) }

// Zero reports whether nothing was counted.
func (c counter) Zero() bool { return c.Text() == "0" }

// counted returns the counters since the queue was created.
func (q queueReport) counted() []counter { return append(q.Counters.list(), q.Values.counted()...) }

func (c counters) list() []counter {
	return []counter{
		{"Added", "counters.added", "adds that requested a run", c.Added},
		{"Deduplicated", "counters.deduplicated", "adds of items that were to run anyway", c.Deduplicated},
		{"Handed out", "counters.handedOut", "items that Get returned", c.HandedOut},
		{"Done", "counters.done", "items whose processing ended", c.Done},
		{"Retries", "counters.retries", "adds with a delay", c.Retries},
		{"Backoffs", "counters.backoffs", "retries with a delay from the limiter, because work failed", c.Backoffs},
		{"Expired", "counters.expired", "delays that expired", c.Expired},
		{"Discarded", "counters.discarded", "items that workers discarded", c.Discarded},
		{"Outages", "counters.outages", "times that five attempts failed, with no success between them", c.Outages},
		{"Canceled", "counters.canceled", "calls of Cancel that withdrew an add", c.Canceled},
		{"Over capacity", "counters.overCapacity", "items added beyond the capacity", c.OverCapacity},
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
		{"Values over capacity", "values.overCapacity", "times that the pending values exceeded the capacity", v.OverCapacity},
	}
}
