package debugpage

// list says what is in the queue now.
func (g gauges) list() []gauge {
	return []gauge{
		{"Ready", "gauges.ready", asCount, g.Ready, ""},
		{"Oldest ready", "gauges.oldestReadySeconds", asDuration, g.OldestReadySeconds, ""},
		{"In processing", "gauges.processing", asCount, g.Processing, ""},
		{"Longest in processing", "gauges.oldestProcessingSeconds", asDuration, g.OldestProcessingSeconds, ""},
		{"Work under way, together", "gauges.unfinishedSeconds", asDuration, g.UnfinishedSeconds, ""},
		{"To run again after it", "gauges.dirty", asCount, g.Dirty, ""},
		{"Waiting", "gauges.waiting", asCount, g.Waiting, ""},
		{"Next delay ends in", "gauges.nextDueSeconds", asDuration, g.NextDueSeconds, ""},
		{"Held, in whatever state", "gauges.held", asCount, g.Held, ofCapacity(g.Capacity)},
		{"Workers in a Run", "gauges.workers", asCount, g.Workers, ""},
		{"Consumers asleep", "gauges.parked", asCount, g.Parked, ""},
		{"Groups with items", "gauges.groups", asCount, g.Groups, ""},
		{"Groups held back", "gauges.heldBack", asCount, g.HeldBack, ""},
		{"Histories in the limiter", "gauges.limited", asCount, g.Limited, ""},
		{"Busiest shard's adds, by the mean", "gauges.skew", asRatio, g.Skew, " ×"},
	}
}

// list likewise says what is pending.
func (v *values) list() []gauge {
	if v == nil {
		return nil
	}
	return []gauge{
		{"Keys with a pending value", "values.keys", asCount, v.Keys, ""},
		{"Weight of these values", "values.weight", asCount, v.Weight, ofCapacity(v.Capacity)},
		{"Share of all puts merged", "values.mergedShare", asShare, v.MergedShare, ""},
	}
}

// OfCapacity follows the weight, and BriefOfCapacity does so where there is little room.
func (v *values) OfCapacity() string { return ofCapacity(v.Capacity) }

// BriefOfCapacity is OfCapacity with less of a large number.
func (v *values) BriefOfCapacity() string {
	if v.Capacity <= 0 {
		return ""
	}
	return " of " + formatBrief(v.Capacity)
}

// ofCapacity follows what a capacity bounds.
func ofCapacity(capacity int) string {
	if capacity <= 0 {
		return ""
	}
	return " of " + formatCount(capacity)
}

// facts say what there is in the queue now.
func (q queueReport) facts() []gauge { return append(q.Gauges.list(), q.Values.list()...) }

// A gauge is a fact that changes: it knows where it is in the report of a queue.
type gauge struct {
	Title, Field, Format string
	Value                any
	// Suffix follows the value.
	Suffix string
}

// Text returns the value as it is shown.
func (g gauge) Text() string { return formatValue(g.Format, g.Value) + g.Suffix }
