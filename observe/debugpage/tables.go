package debugpage

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shardq/shardq/stats"
)

const (
	agesMissing = "Ages are off: it is unknown how long items have been ready or in flight, and the rows are an " +
		"arbitrary selection. Options.Ages or Options.Metrics turns them on."
	metricsMissing = "Metrics are off: durations, retries, and the count of items handed out are unknown. " +
		"Options.Metrics turns them on."
	groupsMissing  = "This queue has no groups. Options.Group creates them."
	limiterMissing = "The limiter does not report failures: it lacks the methods of limiter.Census."
	noAttempt      = "No worker has made an attempt. A loop of your own reports none: see Backoffs."
)

func overviewTable(queues []queueReport) table {
	entries := each(problemsFirst(queues), func(q queueReport) entry {
		return entry{
			"id": q.ID, "verdict": entry{"text": q.Verdict.inWords(), "tone": q.Verdict.Tone},
			"gauges": q.Gauges, "counters": q.Counters,
		}
	})
	return queueReport{}.table("queues", "All queues", "There are no queues.", "queue", entries, []heading{
		{"Queue", "id", asQueue, ""}, {"Verdict", "verdict.text", asVerdict, ""}, {"Ready", "gauges.ready", asCount, ""},
		{"Recent", "gauges.ready", asGraph, ""}, {"Oldest", "gauges.oldestReadySeconds", asDuration, ""},
		{"In flight", "gauges.processing", asCount, ""}, {"Longest", "gauges.oldestProcessingSeconds", asDuration, ""},
		{"Delayed", "gauges.delayed", asCount, ""}, {"Added/s", "gauges.addedPerSecond", asRate, ""}, {"Done/s", "gauges.donePerSecond", asRate, ""},
		{"Failed/s", "gauges.failedPerSecond", asRate, ""},
	}...)
}

var (
	keyColumn      = heading{"Key", "key", asKey, ""}
	attemptColumn  = heading{"Attempt", "attempt", asCount, ""}
	groupColumn    = heading{"Group", "group", asWords, ""}
	workerColumn   = heading{"Worker", "worker", asWorker, ""}
	dirtyColumn    = heading{"Dirty", "dirty", asYes, ""}
	priorityColumn = heading{"Priority", "priority", asCount, ""}
	shardColumn    = heading{"Shard", "shard", asCount, ""}
	reasonColumn   = heading{"Because", "reason", asWords, ""}

	failedColumns = []heading{
		keyColumn, {"Ago", "ageSeconds", asAge, "ascending"}, attemptColumn, {"Error", "error", asError, ""}, {"Panic", "panicked", asYes, ""},
	}
	groupColumns = []heading{
		{"Group", "group", asKey, ""}, {"Ready", "ready", asCount, "descending"}, {"Share", "share", asShare, ""},
		{"Oldest", "oldestReadySeconds", asDuration, ""}, {"In flight", "processing", asCount, ""},
		{"Throttled by", "throttledBy", asYes, ""}, {"Resumes in", "pauseLeftSeconds", asDuration, ""},
		{"Rate", "ratePerSecond", asDecimal, ""}, {"Held", "held", asCount, ""}, {"Weight", "weight", asCount, ""}, shardColumn,
	}
)

func (q queueReport) tables() []table {
	d := q.Detail
	withGroup := func(columns ...heading) []heading {
		if d.options.Groups {
			columns = append(slices.Clone(columns), groupColumn)
		}
		return columns
	}
	items := func(columns ...heading) []heading { return append(withGroup(columns...), priorityColumn, shardColumn) }
	age := heading{"For", "ageSeconds", asAge, unless(!d.options.Ages, "descending")}
	all := []table{
		q.table("detail.processing", "In flight, longest first", "Nothing is in flight.", "item", d.Processing,
			items(keyColumn, age, attemptColumn, workerColumn, dirtyColumn)...),
		q.table("detail.ready", "Ready, longest first", "Nothing is ready.", "item", d.Ready, items(keyColumn, age, attemptColumn)...),
		q.table("detail.delayed", "Delayed, next deadline first", "Nothing is delayed.", "item", d.Delayed,
			items(keyColumn, heading{"Time left", "dueSeconds", asDuration, "ascending"}, attemptColumn)...),
		q.table("detail.retried", "Most failures", "Nothing has failed since its last success.", "item", d.Retried,
			keyColumn, heading{"Failures", "failures", asCount, "descending"}),
		q.table("detail.groups", "Groups, most ready first", unless(!d.options.Groups, "No group has items."), "group", d.Groups,
			groupColumns...),
	}
	all[0].Note = unless(d.options.Ages, agesMissing)
	all[1].Note = all[0].Note
	all[2].Chart = &chart{"detail.timeLeft", "Time left", "of all running delays", "now", d.TimeLeft, true}
	all[3].Note = unless(q.Gauges["limited"] != nil, limiterMissing)
	all[4].Note = unless(d.options.Groups, groupsMissing)
	for i, field := range map[int]string{1: "gauges.ready", 2: "gauges.delayed", 3: "gauges.limited", 4: "gauges.groups"} {
		all[i].Count = q.count(field)
	}
	if len(d.Sources) > 0 {
		all = append(all, q.table("detail.sources", "Sources, most events not safe first", "No source is open.", "", d.Sources,
			heading{"Source", "source", asKey, ""}, heading{"Read", "read", asCount, ""}, heading{"Safe", "safe", asCount, ""},
			heading{"Events between", "events", asCount, "descending"}, heading{"Age of the oldest", "oldestSeconds", asDuration, ""}))
	}
	if d.options.Metrics {
		all = append(all, q.table("detail.attempts", "Attempts by result", noAttempt, "", d.Attempts, []heading{
			{"Result", "result", asKey, ""}, {"Attempts", "count", asCount, ""}, {"Share", "share", asShare, ""},
			{"Mean", "meanSeconds", asDuration, ""}, {"Half", "p50Seconds", asDuration, ""}, {"99 %", "p99Seconds", asDuration, ""},
		}...))
	}
	if d.options.Metrics && d.options.Groups {
		columns := []heading{{"Group", "group", asKey, ""}, {"Attempts", "total", asCount, "descending"}}
		for result := range stats.Result(stats.Results) {
			columns = append(columns, heading{result.String(), result.String(), asCount, ""})
		}
		all = append(all, q.table("detail.attemptsByGroup", "Attempts by group, most first", noAttempt, "", d.AttemptsByGroup, columns...))
	}
	discards := q.table("detail.discards", "Dead letters, newest first", "No item was discarded.", "item", d.Discards,
		withGroup(slices.Insert(slices.Clone(failedColumns), 4, reasonColumn)...)...)
	discards.Count = q.count("counters.discarded")
	return append(all,
		q.table("detail.failures", "Last failures, newest first", "No worker has reported a failure whose item runs again.", "item", d.Failures,
			withGroup(failedColumns...)...),
		discards)
}

func (q queueReport) count(field string) *figure {
	i := slices.IndexFunc(slices.Concat(gauges, counters), func(f figure) bool { return f.Field == field })
	return &q.figures(slices.Concat(gauges, counters)[i : i+1])[0]
}

func (q queueReport) foundTables() (all []table) {
	f := q.Found
	if f.Group != nil {
		limits := []heading{{"Limit in flight", "limit", asWorker, ""}, {"Burst", "burst", asCount, ""}}
		all = append(all, q.table("found.group", "Group", "", "", []entry{f.Group}, slices.Concat(groupColumns, limits)...))
	}
	none := orNone(f.Complete, "No item.", "None of the items that were searched.")
	all = append(all, q.table("found.items", "Items", none, "item", f.Items, []heading{
		keyColumn, {"State", "state", asYes, ""}, {"For", "ageSeconds", asAge, ""}, {"Time left", "dueSeconds", asDuration, ""},
		attemptColumn, workerColumn, dirtyColumn, groupColumn, priorityColumn, shardColumn,
	}...))
	if f.choice.by == "item" {
		columns := append(slices.Clone(failedColumns), reasonColumn)
		all = append(all, q.table("found.failures", "Last failures, newest first", "No failure of this item is kept.", "", f.Failures, columns...))
	}
	return all
}

func unless(there bool, missing string) string { return orNone(there, "", missing) }

// A highlight is a line below the verdict, hidden if Key is empty. It links to
// its item or group.
type highlight struct {
	Path, Title   string // of the rows in the report, and of the section
	Key, Text, To string // of the first row
}

func (q queueReport) Highlights() []highlight {
	d := q.Detail
	line := func(path, title, kind string, rows []entry, is bool, text func(row entry) string) highlight {
		h := highlight{Path: path, Title: title}
		if is {
			field := orNone(kind == "group", kind, "key")
			h.Key, h.Text = newCell(rows[0], heading{Field: field}).withEllipsis(), text(rows[0])
			h.To = q.to(kind, rows[0]["id"].(string))
		}
		return h
	}
	stuck := func(row entry) string { return "for " + formatValue(asDuration, row["ageSeconds"]) }
	ready := func(row entry) string {
		return formatValue(asCount, row["ready"]) + " ready, " + formatValue(asShare, row["share"]) + " of all"
	}
	failed := func(row entry) string {
		return strings.Replace(formatValue(asAge, row["ageSeconds"])+" ago: ", "now ago", "now", 1) + newCell(row, heading{Field: "error"}).withEllipsis()
	}
	isStuck := len(d.Processing) > 0 && d.Processing[0]["stuck"] == true
	isReady := len(d.Groups) > 0 && d.Groups[0]["ready"] != 0
	isDiscarded := len(d.Discards) > 0 && len(d.Failures) == 0 // one error is enough
	return []highlight{
		line("detail.processing", "Stuck", "item", d.Processing, isStuck, stuck),
		line("detail.groups", "Largest group", "group", d.Groups, isReady, ready),
		line("detail.failures", "Last failure", "item", d.Failures, len(d.Failures) > 0, failed),
		line("detail.discards", "Last dead letter", "item", d.Discards, isDiscarded, failed),
	}
}

// startOf and endOf return the parts of a text that is cut in its middle where
// it has no room: the end of an error often says most.
func startOf(text string) string { return strings.TrimSuffix(text, endOf(text)) }

func endOf(text string) string {
	all := []rune(text)
	return string(all[max(len(all)/2, len(all)-20):])
}

// A table has rows at a Path of the report. Note says what is missing.
type table struct {
	Path, Title, Note, Empty string

	Chart   *chart  // above the rows, or nil
	Count   *figure // of all items of a folded table, or nil
	Open    bool    // if the table is folded
	Columns []heading
	Rows    []row
}

type heading struct{ Title, Field, Format, Sort string } // Sort is "ascending" or "descending", if any

// Live reports whether a column makes sense only while the page updates itself.
func (h heading) Live() bool { return h.Format == asGraph }

func (h heading) Numeric() bool {
	return slices.Contains([]string{asCount, asDuration, asShare, asRate, asDecimal, asWorker, asAge}, h.Format)
}

type row struct {
	Cells []cell
	Stuck bool
	ID    string // where the order may change
}

type cell struct {
	shownKey
	Format, Label, Tone string
	Stuck, None         bool // None stands for a dash
	Percent             int
	To                  string // the link of a key
	More                *more
}

type more struct {
	N  int // of the worker
	To string
}

// The formats of values. The script has them, too.
const (
	asKey, asWords, asError, asYes, asTruth, asQueue, asVerdict = "key", "text", "error", "yes", "truth", "queue", "verdict"
	asCount, asBrief, asShare, asRatio, asDecimal, asDuration   = "count", "brief", "share", "ratio", "decimal", "duration"
	asWorker, asRate, asGraph, asAge                            = "worker", "rate", "graph", "age"
)

// table returns a table whose rows link to pages by a parameter with their id.
func (q queueReport) table(path, title, empty, link string, entries []entry, columns ...heading) table {
	t := table{Path: path, Title: title, Empty: empty, Columns: columns}
	for _, e := range entries {
		r := row{Cells: each(columns, func(h heading) cell { return newCell(e, h) }), Stuck: e["stuck"] == true}
		first := &r.Cells[0]
		first.Stuck = r.Stuck
		switch id, _ := e["id"].(string); {
		case link == "queue":
			r.ID, first.To = id, queueReport{ID: id}.to(link, id)
		case link != "" && id != "":
			first.To = q.to(link, id)
		}
		if n, _ := e["batch"].(int); n > 1 {
			first.More = &more{n - 1, q.to("worker", strconv.Itoa(e["worker"].(int)))}
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func newCell(e entry, h heading) cell {
	value := at(e, h.Field)
	c := cell{shownKey: shownKey{Text: formatValue(h.Format, value)}, Format: h.Format, Label: h.Title}
	c.None = c.Text == unknown
	c.KeyLength, _ = e[h.Field+"Length"].(int)
	switch h.Format {
	case asShare:
		c.Percent = int(value.(float64) * 100)
	case asVerdict:
		c.Tone = at(e, "verdict.tone").(string)
	}
	return c
}

// to returns the address of another page of the queue, with as many rows.
func (q queueReport) to(name, value string) string {
	values := url.Values{"queue": {q.ID}, name: {value}}
	if q.asked > 0 {
		values.Set("rows", strconv.Itoa(q.asked))
	}
	return "?" + values.Encode()
}

func at(e entry, path string) any {
	name, rest, more := strings.Cut(path, ".")
	if inner, _ := e[name].(entry); more {
		return at(inner, rest)
	}
	return e[name]
}

const unknown = "–" // in place of a value

func formatValue(format string, value any) string {
	switch v := value.(type) {
	case nil:
		return unknown
	case string:
		return v
	case bool:
		return orNone(v, "yes", orNone(format == asTruth, "no", ""))
	case seconds:
		return orNone(format == asAge && v == 0, "now", formatDuration(v.duration()))
	case uint64:
		return formatCount(v)
	case int64: // an offset, as others write it
		return strconv.FormatInt(v, 10)
	case int:
		switch {
		case format == asWorker && v == 0:
			return unknown
		case format == asBrief:
			return formatBrief(v)
		}
		return formatCount(v)
	case float64:
		switch format {
		case asShare:
			return formatShare(v)
		case asDecimal:
			return formatDecimal(v)
		case asRate:
			return formatRate(v)
		}
		return formatRatio(v)
	}
	panic("debugpage: a value of a type that has no format")
}
