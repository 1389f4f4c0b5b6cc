package debugpage

// list says what is in the queue now.
func (g gauges) list() []gauge {
	capacity := ""
	if g.Capacity > 0 {
		capacity = " of " + formatCount(g.Capacity)
	}
	return []gauge{
		{"Ready", "gauges.ready", asCount, g.Ready, ""},
		{"Oldest ready", "gauges.oldestReadySeconds", asDuration, g.OldestReadySeconds, ""},
		{"In processing", "gauges.processing", asCount, g.Processing, ""},
		{"Longest in processing", "gauges.oldestProcessingSeconds", asDuration, g.OldestProcessingSeconds, ""},
		{"Work under way, together", "gauges.unfinishedSeconds", asDuration, g.UnfinishedSeconds, ""},
		{"To run again after it", "gauges.dirty", asCount, g.Dirty, ""},
		{"Waiting", "gauges.waiting", asCount, g.Waiting, ""},
		{"Next delay ends in", "gauges.nextDueSeconds", asDuration, g.NextDueSeconds, ""},
		{"Held, in whatever state", "gauges.held", asCount, g.Held, capacity},
		{"Workers in a Run", "gauges.workers", asCount, g.Workers, ""},
		{"Consumers asleep", "gauges.parked", asCount, g.Parked, ""},
		{"Groups with items", "gauges.groups", asCount, g.Groups, ""},
		{"Groups held back", "gauges.heldBack", asCount, g.HeldBack, ""},
		{"Histories in the limiter", "gauges.limited", asCount, g.Limited, ""},
		{"Busiest shard's adds, by the mean", "gauges.skew", asRatio, g.Skew, " ×"},
	}
}
