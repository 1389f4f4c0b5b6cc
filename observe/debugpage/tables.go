package debugpage

const (
	agesMissing = "Ages are off: since when items are ready or in processing is not known, and which ones are shown " +
		"is chance. Options.Ages or Options.Metrics switches them on."
	metricsMissing = "Metrics are off: durations, retries, and what was handed out and done are not known. " +
		"Options.Metrics switches them on."
	groupsMissing  = "This queue has no groups. Options.Group makes some."
	limiterMissing = "The limiter does not tell what failed: it has no methods of limiter.Census."
)

var overviewColumns = []column[queueReport]{
	{heading{"Queue", "id", asQueue, ""}, func(q queueReport) any { return q.ID }},
	{heading{"State", "state", asState, ""}, func(q queueReport) any { return q.State }},
	{heading{"Ready", "gauges.ready", asCount, ""}, func(q queueReport) any { return q.Gauges.Ready }},
	{heading{"Lately", "gauges.ready", asGraph, ""}, func(queueReport) any { return nil }},
	{heading{"Oldest ready", "gauges.oldestReadySeconds", asDuration, ""}, func(q queueReport) any { return q.Gauges.OldestReadySeconds }},
	{heading{"In processing", "gauges.processing", asCount, ""}, func(q queueReport) any { return q.Gauges.Processing }},
	{heading{"Longest", "gauges.oldestProcessingSeconds", asDuration, ""}, func(q queueReport) any { return q.Gauges.OldestProcessingSeconds }},
	{heading{"Waiting", "gauges.waiting", asCount, ""}, func(q queueReport) any { return q.Gauges.Waiting }},
	{heading{"Added", "counters.added", asCount, ""}, func(q queueReport) any { return q.Counters.Added }},
	{heading{"Per second", "counters.added", asRate, ""}, func(queueReport) any { return nil }},
}

var (
	keyColumn      = column[item]{heading{"Key", "key", asKey, ""}, func(i item) any { return i.Key }}
	attemptsColumn = column[item]{heading{"Attempts", "attempts", asCount, ""}, func(i item) any { return i.Attempts }}
	groupColumn    = column[item]{heading{"Group", "group", asWords, ""}, func(i item) any { return i.Group }}
	priorityColumn = column[item]{heading{"Priority", "priority", asCount, ""}, func(i item) any { return i.Priority }}
	shardColumn    = column[item]{heading{"Shard", "shard", asCount, ""}, func(i item) any { return i.Shard }}
	workerColumn   = column[item]{heading{"Worker", "worker", asWorker, ""}, func(i item) any { return i.Worker }}
	dirtyColumn    = column[item]{heading{"Runs again", "dirty", asYes, ""}, func(i item) any { return i.Dirty }}
	dueColumn      = column[item]{heading{"Time left", "dueSeconds", asDuration, "ascending"}, func(i item) any { return i.DueSeconds }}
)

// ageColumn is sorted if there are ages.
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
	{heading{"Share of all ready", "share", asShare, ""}, func(g group) any { return g.Share }},
	{heading{"In processing", "processing", asCount, ""}, func(g group) any { return g.Processing }},
	{heading{"Held back", "heldBack", asYes, ""}, func(g group) any { return g.HeldBack }},
	{heading{"Held", "held", asCount, ""}, func(g group) any { return g.Held }},
	{heading{"Weight", "weight", asCount, ""}, func(g group) any { return g.Weight }},
	{heading{"Shard", "shard", asCount, ""}, func(g group) any { return g.Shard }},
}

func overviewTable(queues []queueReport) table {
	return newTable(table{Path: "queues", Title: "All queues", Empty: "There are no queues."}, overviewColumns, queues)
}

// tables returns those of a queue that is shown as a whole.
func (q queueReport) tables() []table {
	d := q.Detail
	return []table{
		newTable(table{
			Path: "detail.processing", Title: "In processing, the longest first",
			Note: unless(d.Configuration.Ages, agesMissing), Empty: "Nothing is in processing.",
		}, d.itemColumns(keyColumn, ageColumn("For", d.Configuration.Ages), attemptsColumn, workerColumn, dirtyColumn), d.Processing),
		newTable(table{
			Path: "detail.ready", Title: "Ready, the longest first",
			Note: unless(d.Configuration.Ages, agesMissing), Empty: "Nothing is ready.",
		}, d.itemColumns(keyColumn, ageColumn("For", d.Configuration.Ages), attemptsColumn), d.Ready),
		newTable(table{
			Path: "detail.waiting", Title: "Waiting, the next to be ready first", Empty: "Nothing waits.",
			Chart: d.timeLeftChart(),
		}, d.itemColumns(keyColumn, dueColumn, attemptsColumn), d.Waiting),
		newTable(table{
			Path: "detail.retried", Title: "Failed most often since they were forgotten",
			Note: unless(q.Gauges.Limited != nil, limiterMissing), Empty: "Nothing has failed.",
		}, retriedColumns, d.Retried),
		newTable(table{
			Path: "detail.groups", Title: "Groups, those with most ready first",
			Note: unless(d.Configuration.Groups, groupsMissing), Empty: unless(!d.Configuration.Groups, "No group has items."),
		}, groupColumns, d.Groups),
	}
}

// itemColumns returns columns with those that every table of items has.
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

// A counter is a row of the table of counters.
type counter struct {
	// Field is where it is in the counters of a report.
	Title, Field, Meaning string
	value                 func(counters) any
}

// Value returns the count as it is shown.
func (c counter) Value(of counters) string { return formatValue(asCount, c.value(of)) }

var counterRows = []counter{
	{"Added", "added", "adds that asked for a run", func(c counters) any { return c.Added }},
	{"Merged", "merged", "adds served by a run that was to come anyway", func(c counters) any { return c.Merged }},
	{"Handed out", "handedOut", "items that a Get returned", func(c counters) any { return c.HandedOut }},
	{"Done", "done", "items whose processing ended", func(c counters) any { return c.Done }},
	{"Retries", "retries", "adds with a delay", func(c counters) any { return c.Retries }},
	{"Backed off", "backedOff", "retries that asked the limiter, for work that failed", func(c counters) any { return c.BackedOff }},
	{"Fired", "fired", "delays that ended", func(c counters) any { return c.Fired }},
	{"Given up", "givenUp", "items that workers gave up", func(c counters) any { return c.GivenUp }},
	{"Canceled", "canceled", "calls of Cancel that took something back", func(c counters) any { return c.Canceled }},
	{"Exceeded", "exceeded", "items taken in beyond the capacity", func(c counters) any { return c.Exceeded }},
	{"Dropped", "dropped", "items refused since the shutdown began, or dropped by it", func(c counters) any { return c.Dropped }},
	{"Rejected", "rejected", "items that are not equal to themselves", func(c counters) any { return c.Rejected }},
	{"Misused", "misused", "Dones of what was not in processing", func(c counters) any { return c.Misused }},
}

// A fact is something that is said of a queue in a pair of words.
type fact struct{ Title, Text string }

// A gauge is a fact that changes: it knows where it is in the report of a queue.
type gauge struct {
	Title, Field, Format string
	Value                any
	// Suffix follows the value.
	Suffix string
}

// Text returns the value as it is shown.
func (g gauge) Text() string { return formatValue(g.Format, g.Value) + g.Suffix }

// facts says how the queue was made.
func (c configuration) facts() []fact {
	return []fact{
		{"Items", c.Item},
		{"Shards", formatCount(c.Shards)},
		{"Routing", c.Routing},
		{"Capacity", orNone(c.Capacity > 0, formatCount(c.Capacity), "no bound")},
		{"Tick", formatDuration(c.TickSeconds.duration())},
		{"Stuck after", orNone(c.StuckSeconds > 0, formatDuration(c.StuckSeconds.duration()), "never")},
		{"Groups", orNone(c.Groups, "on", "off")},
		{"Group limit", orNone(c.GroupLimit > 0, formatCount(c.GroupLimit), "no bound")},
		{"Lower levels", orNone(c.LowerLevelEvery > 0, "every "+formatCount(c.LowerLevelEvery)+" Gets", "strict priorities")},
		{"An add cancels a delay", orNone(c.CancelDelayOnAdd, "yes", "no")},
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
