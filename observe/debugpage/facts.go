package debugpage

// list returns the gauges of a queue.
func (g gauges) list() []gauge {
	return []gauge{
		{"Ready", "gauges.ready", asCount, g.Ready, ""},
		{"Oldest ready", "gauges.oldestReadySeconds", asDuration, g.OldestReadySeconds, ""},
		{"In flight", "gauges.processing", asCount, g.Processing, ""},
		{"Longest in flight", "gauges.oldestProcessingSeconds", asDuration, g.OldestProcessingSeconds, ""},
		{"Unfinished work", "gauges.unfinishedSeconds", asDuration, g.UnfinishedSeconds, ""},
		{"Dirty", "gauges.dirty", asCount, g.Dirty, ""},
		{"Delayed", "gauges.delayed", asCount, g.Delayed, ""},
		{"Next delay expires in", "gauges.nextDueSeconds", asDuration, g.NextDueSeconds, ""},
		{"Held, in any state", "gauges.held", asCount, g.Held, ofCapacity(g.Capacity)},
		{"Paused", "gauges.paused", asTruth, g.Paused, ""},
		{"Workers in Run", "gauges.workers", asCount, g.Workers, ""},
		{"Parked consumers", "gauges.parked", asCount, g.Parked, ""},
		{"Groups with items", "gauges.groups", asCount, g.Groups, ""},
		{"Throttled groups", "gauges.throttled", asCount, g.Throttled, ""},
		{"Rate limit per second", "gauges.ratePerSecond", asDecimal, g.RatePerSecond, ""},
		{"Failures in an outage", "gauges.outageFailures", asCount, g.OutageFailures, ""},
		{"Items in the limiter", "gauges.limited", asCount, g.Limited, ""},
		{"Skew of the shards", "gauges.skew", asRatio, g.Skew, " ×"},
	}
}

// list returns the gauges of a Coalescer's pending values.
func (v *values) list() []gauge {
	if v == nil {
		return nil
	}
	return []gauge{
		{"Keys with a pending value", "values.keys", asCount, v.Keys, ""},
		{"Keys that linger", "values.lingering", asCount, v.Lingering, ""},
		{"Weight of pending values", "values.weight", asCount, v.Weight, ofCapacity(v.Capacity)},
		{"Share of puts merged", "values.mergedShare", asShare, v.MergedShare, ""},
	}
}

// OfCapacity returns the text that follows the weight.
func (v *values) OfCapacity() string { return ofCapacity(v.Capacity) }

// BriefOfCapacity returns OfCapacity with a large number abbreviated, for a
// narrow field.
func (v *values) BriefOfCapacity() string {
	if v.Capacity <= 0 {
		return ""
	}
	return " of " + formatBrief(v.Capacity)
}

// ofCapacity returns the text that follows a value limited by the capacity.
func ofCapacity(capacity int) string {
	if capacity <= 0 {
		return ""
	}
	return " of " + formatCount(capacity)
}

// facts returns all gauges of a queue.
func (q queueReport) facts() []gauge { return append(q.Gauges.list(), q.Values.list()...) }

// A gauge is a fact with a value that changes. Field is where the value is in
// the report of a queue.
type gauge struct {
	Title, Field, Format string
	Value                any
	// Suffix follows the value.
	Suffix string
}

// Text returns the formatted value.
func (g gauge) Text() string { return formatValue(g.Format, g.Value) + g.Suffix }
