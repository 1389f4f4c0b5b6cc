package debugpage

const (
	agesMissing = "Ages are off: it is unknown how long items have been ready or in flight, and the rows are an " +
		"arbitrary selection. Options.Ages or Options.Metrics turns them on."
	metricsMissing = "Metrics are off: durations, retries, and the counts of items handed out and done are unknown. " +
		"Options.Metrics turns them on."
	groupsMissing  = "This queue has no groups. Options.Group creates them."
	limiterMissing = "The limiter does not report failures: it lacks the methods of limiter.Census."
)

var overviewColumns = []column[queueReport]{
	{heading{"Queue", "id", asQueue, ""}, func(q queueReport) any { return q.ID }},
	{heading{"Verdict", "verdict.text", asVerdict, ""}, func(q queueReport) any { return q.Verdict.Text }},
	{heading{"Ready", "gauges.ready", asCount, ""}, func(q queueReport) any { return q.Gauges.Ready }},
	{heading{"Recent", "gauges.ready", asGraph, ""}, func(queueReport) any { return nil }},
	{heading{"Oldest ready", "gauges.oldestReadySeconds", asDuration, ""}, func(q queueReport) any { return q.Gauges.OldestReadySeconds }},
	{heading{"In flight", "gauges.processing", asCount, ""}, func(q queueReport) any { return q.Gauges.Processing }},
	{heading{"Longest in flight", "gauges.oldestProcessingSeconds", asDuration, ""}, func(q queueReport) any { return q.Gauges.OldestProcessingSeconds }},
	{heading{"Delayed", "gauges.delayed", asCount, ""}, func(q queueReport) any { return q.Gauges.Delayed }},
	{heading{"Added", "counters.added", asCount, ""}, func(q queueReport) any { return q.Counters.Added }},
	{heading{"Per second", "counters.added", asRate, ""}, func(queueReport) any { return nil }},
}

var (
	keyColumn      = column[item]{heading{"Key", "key", asKey, ""}, func(i item) any { return i.Key }}
	attemptColumn  = column[item]{heading{"Attempt", "attempt", asCount, ""}, func(i item) any { return i.Attempt }}
	stateColumn    = column[item]{heading{"State", "state", asYes, ""}, func(i item) any { return i.State }}
	groupColumn    = column[item]{heading{"Group", "group", asWords, ""}, func(i item) any { return i.Group }}
	priorityColumn = column[item]{heading{"Priority", "priority", asCount, ""}, func(i item) any { return i.Priority }}
	shardColumn    = column[item]{heading{"Shard", "shard", asCount, ""}, func(i item) any { return i.Shard }}
	workerColumn   = column[item]{heading{"Worker", "worker", asWorker, ""}, func(i item) any { return i.Worker }}
	dirtyColumn    = column[item]{heading{"Dirty", "dirty", asYes, ""}, func(i item) any { return i.Dirty }}
	dueColumn      = column[item]{heading{"Time left", "dueSeconds", asDuration, "ascending"}, func(i item) any { return i.DueSeconds }}
)

// ageColumn returns the column of ages, by which the rows are sorted if there
// are ages.
func ageColumn(title string, ages bool) column[item] {
	sort := ""
	if ages {
		sort = "descending"
	}
	return column[item]{heading{title, "ageSeconds", asDuration, sort}, func(i item) any { return i.AgeSeconds }}
}

var retriedColumns = []column[failure]{
	{heading{"Key", "key", asKey, ""}, func(f failure) any { return f.Key }},
	{heading{"Failures", "failures", asCount, "descending"}, func(f failure) any { return f.Failures }},
}

var groupColumns = []column[group]{
	{heading{"Group", "group", asKey, ""}, func(g group) any { return g.Group }},
	{heading{"Ready", "ready", asCount, "descending"}, func(g group) any { return g.Ready }},
	{heading{"Share of ready", "share", asShare, ""}, func(g group) any { return g.Share }},
	{heading{"Oldest", "oldestReadySeconds", asDuration, ""}, func(g group) any { return g.OldestReadySeconds }},
	{heading{"In flight", "processing", asCount, ""}, func(g group) any { return g.Processing }},
	{heading{"Throttled by", "throttledBy", asYes, ""}, func(g group) any { return g.ThrottledBy }},
	{heading{"Resumes in", "pauseLeftSeconds", asDuration, ""}, func(g group) any { return g.PauseLeftSeconds }},
	{heading{"Rate", "ratePerSecond", asDecimal, ""}, func(g group) any { return g.RatePerSecond }},
	{heading{"Held", "held", asCount, ""}, func(g group) any { return g.Held }},
	{heading{"Weight", "weight", asCount, ""}, func(g group) any { return g.Weight }},
	{heading{"Shard", "shard", asCount, ""}, func(g group) any { return g.Shard }},
}

func overviewTable(queues []queueReport) table {
	return newTable(table{Path: "queues", Title: "All queues", Empty: "There are no queues."}, overviewColumns, problemsFirst(queues))
}

// tables returns the tables of the selected queue.
func (q queueReport) tables() []table {
	d := q.Detail
	all := append([]table{
		newTable(table{
			Path: "detail.processing", Title: "In flight, longest first",
			Note: unless(d.Configuration.Ages, agesMissing), Empty: "Nothing is in flight.",
		}, d.itemColumns(keyColumn, ageColumn("For", d.Configuration.Ages), attemptColumn, workerColumn, dirtyColumn), d.Processing),
		newTable(table{
			Path: "detail.ready", Title: "Ready, longest first",
			Note: unless(d.Configuration.Ages, agesMissing), Empty: "Nothing is ready.",
		}, d.itemColumns(keyColumn, ageColumn("For", d.Configuration.Ages), attemptColumn), d.Ready),
		newTable(table{
			Path: "detail.delayed", Title: "Delayed, next deadline first", Empty: "Nothing is delayed.",
			Chart: d.timeLeftChart(),
		}, d.itemColumns(keyColumn, dueColumn, attemptColumn), d.Delayed),
		newTable(table{
			Path: "detail.retried", Title: "Most failures",
			Note: unless(q.Gauges.Limited != nil, limiterMissing), Empty: "Nothing has failed.",
		}, retriedColumns, d.Retried),
		newTable(table{
			Path: "detail.groups", Title: "Groups, most ready first",
			Note: unless(d.Configuration.Groups, groupsMissing), Empty: unless(!d.Configuration.Groups, "No group has items."),
		}, groupColumns, d.Groups),
	}, d.outcomes.tables(d.Configuration)...)
	for i := range all {
		all[i].linkRows(q, q.rowIDs(all[i].Path))
	}
	return all
}

// itemColumns returns columns, followed by those that every table of items has.
func (d *detailReport) itemColumns(columns ...column[item]) []column[item] {
	if d.Configuration.Groups {
		columns = append(columns, groupColumn)
	}
	return append(columns, priorityColumn, shardColumn)
}

func unless(there bool, missing string) string {
	if there {
		return ""
	}
	return missing
}

// A fact is a title with a text.
type fact struct{ Title, Text string }

// configured returns the configuration of the queue. The queue of a Coalescer
// has no capacity itself: its values have.
func (q queueReport) configured() []fact {
	c, capacity, of := q.Detail.Configuration, q.Gauges.Capacity, ""
	if q.Values != nil {
		capacity, of = q.Values.Capacity, ", of pending values"
	}
	return []fact{
		{"Items", c.Item},
		{"Shards", formatCount(c.Shards)},
		{"Routing", c.Routing},
		{"Capacity", orNone(capacity > 0, formatCount(capacity)+of, "no limit")},
		{"Tick", formatDuration(c.TickSeconds.duration())},
		{"Stuck after", orNone(c.StuckSeconds > 0, formatDuration(c.StuckSeconds.duration()), "never")},
		{"Groups", orNone(c.Groups, "on", "off")},
		{"Low priorities", orNone(c.LowPriorityInterval > 0, "every "+formatCount(c.LowPriorityInterval)+" Gets", "strict priorities")},
		{"Rules", orNone(c.Controller, "controller-runtime's", "client-go's")},
		{"Ages", orNone(c.Ages, "on", "off")},
		{"Metrics", orNone(c.Metrics, "on", "off")},
		{"Limiter", c.Limiter},
		{"Clock", c.Clock},
	}
}

func orNone(there bool, text, none string) string {
	if there {
		return text
	}
	return none
}
