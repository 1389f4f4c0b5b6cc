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
	metricsMissing = "Metrics are off: durations, retries, and the counts of items handed out and done are unknown. " +
		"Options.Metrics turns them on."
	groupsMissing  = "This queue has no groups. Options.Group creates them."
	limiterMissing = "The limiter does not report failures: it lacks the methods of limiter.Census."
	noAttempt      = "No worker has made an attempt."
)

func overviewTable(queues []queueReport) table {
	entries := each(problemsFirst(queues), func(q queueReport) entry {
		return entry{
			"id": q.ID, "verdict": entry{"text": q.Verdict.Text, "tone": q.Verdict.Tone},
			"gauges": q.Gauges, "counters": q.Counters,
		}
	})
	return table{Path: "queues", Title: "All queues", Empty: "There are no queues.", link: "queue", Columns: []heading{
		{"Queue", "id", asQueue, ""}, {"Verdict", "verdict.text", asVerdict, ""}, {"Ready", "gauges.ready", asCount, ""},
		{"Recent", "gauges.ready", asGraph, ""}, {"Oldest ready", "gauges.oldestReadySeconds", asDuration, ""},
		{"In flight", "gauges.processing", asCount, ""}, {"Longest in flight", "gauges.oldestProcessingSeconds", asDuration, ""},
		{"Delayed", "gauges.delayed", asCount, ""}, {"Added", "counters.added", asCount, ""}, {"Per second", "counters.added", asRate, ""},
	}}.with(queueReport{}, entries)
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
		keyColumn, {"Ago", "ageSeconds", asDuration, "ascending"}, attemptColumn, {"Error", "error", asError, ""}, {"Panic", "panicked", asYes, ""},
	}
	groupColumns = []heading{
		{"Group", "group", asKey, ""}, {"Ready", "ready", asCount, "descending"}, {"Share of ready", "share", asShare, ""},
		{"Oldest", "oldestReadySeconds", asDuration, ""}, {"In flight", "processing", asCount, ""},
		{"Throttled by", "throttledBy", asYes, ""}, {"Resumes in", "pauseLeftSeconds", asDuration, ""},
		{"Rate", "ratePerSecond", asDecimal, ""}, {"Held", "held", asCount, ""}, {"Weight", "weight", asCount, ""}, shardColumn,
	}
)

func (q queueReport) tables() []table {
	d := q.Detail
	agesNote := unless(d.options.Ages, agesMissing)
	age := heading{"For", "ageSeconds", asDuration, unless(!d.options.Ages, "descending")}
	items := func(columns ...heading) []heading { return append(d.withGroup(columns), priorityColumn, shardColumn) }
	return slices.Concat([]table{
		table{
			Path: "detail.processing", Title: "In flight, longest first", Note: agesNote, Empty: "Nothing is in flight.", link: "item",
			Columns: items(keyColumn, age, attemptColumn, workerColumn, dirtyColumn),
		}.with(q, d.Processing),
		table{
			Path: "detail.ready", Title: "Ready, longest first", Note: agesNote, Empty: "Nothing is ready.", link: "item",
			Columns: items(keyColumn, age, attemptColumn),
		}.with(q, d.Ready),
		table{
			Path: "detail.delayed", Title: "Delayed, next deadline first", Empty: "Nothing is delayed.", link: "item",
			Columns: items(keyColumn, heading{"Time left", "dueSeconds", asDuration, "ascending"}, attemptColumn),
			Chart:   &chart{"detail.timeLeft", "Time left", "of all running delays", "now", d.TimeLeft, true},
		}.with(q, d.Delayed),
		table{
			Path: "detail.retried", Title: "Most failures", Note: unless(q.Gauges["limited"] != nil, limiterMissing),
			Empty: "Nothing has failed.", link: "item", Columns: []heading{keyColumn, {"Failures", "failures", asCount, "descending"}},
		}.with(q, d.Retried),
		table{
			Path: "detail.groups", Title: "Groups, most ready first", Note: unless(d.options.Groups, groupsMissing),
			Empty: unless(!d.options.Groups, "No group has items."), link: "group", Columns: groupColumns,
		}.with(q, d.Groups),
	}, q.attempts(), q.failures())
}

func (q queueReport) attempts() (all []table) {
	d := q.Detail
	if d.options.Metrics {
		all = append(all, table{Path: "detail.attempts", Title: "Attempts by result", Empty: noAttempt, Columns: []heading{
			{"Result", "result", asKey, ""}, {"Attempts", "count", asCount, ""}, {"Share", "share", asShare, ""},
			{"Mean", "meanSeconds", asDuration, ""}, {"Half", "p50Seconds", asDuration, ""}, {"99 %", "p99Seconds", asDuration, ""},
		}}.with(q, d.Attempts))
	}
	if d.options.Metrics && d.options.Groups {
		columns := []heading{{"Group", "group", asKey, ""}, {"Attempts", "total", asCount, "descending"}}
		for result := range stats.Result(stats.Results) {
			columns = append(columns, heading{result.String(), result.String(), asCount, ""})
		}
		all = append(all, table{
			Path: "detail.attemptsByGroup", Title: "Attempts by group, most first", Empty: noAttempt, Columns: columns,
		}.with(q, d.AttemptsByGroup))
	}
	return all
}

func (q queueReport) failures() []table {
	d := q.Detail
	return []table{
		table{
			Path: "detail.failures", Title: "Last failures, newest first", Empty: "No attempt has failed whose item runs again.",
			link: "item", Columns: d.withGroup(slices.Clone(failedColumns)),
		}.with(q, d.Failures),
		table{
			Path: "detail.discards", Title: "Dead letters, newest first", Empty: "No item was discarded.",
			link: "item", Columns: d.withGroup(slices.Insert(slices.Clone(failedColumns), 4, reasonColumn)),
		}.with(q, d.Discards),
	}
}

func (d *detailReport) withGroup(columns []heading) []heading {
	if d.options.Groups {
		columns = append(columns, groupColumn)
	}
	return columns
}

func (q queueReport) foundTables() (all []table) {
	f := q.Found
	if f.Group != nil {
		columns := append(slices.Clone(groupColumns), heading{"Limit in flight", "limit", asWorker, ""}, heading{"Burst", "burst", asCount, ""})
		all = append(all, table{Path: "found.group", Title: "Group", Columns: columns}.with(q, []entry{f.Group}))
	}
	if f.Failure != nil {
		columns := append(slices.Clone(failedColumns), reasonColumn)
		all = append(all, table{Path: "found.failure", Title: "Last failure", Columns: columns}.with(q, []entry{f.Failure}))
	}
	return append(all, table{
		Path: "found.items", Title: "Items", Empty: orNone(f.Complete, "No item.", "None of the items that were searched."), link: "item",
		Columns: []heading{
			keyColumn, {"State", "state", asYes, ""}, {"For", "ageSeconds", asDuration, ""}, {"Time left", "dueSeconds", asDuration, ""},
			attemptColumn, workerColumn, dirtyColumn, groupColumn, priorityColumn, shardColumn,
		},
	}.with(q, f.Items))
}

func unless(there bool, missing string) string { return orNone(there, "", missing) }

// A highlight is a line below the verdict of a narrow page, where the tables
// are below the first screen. The script updates it. It is hidden if Key is
// empty.
type highlight struct {
	Path, Title string // of the rows in the report, and of the section
	Key, Text   string // of the first row
}

func (d *detailReport) Highlights() []highlight {
	lines := []highlight{
		{Path: "detail.processing", Title: "Stuck"},
		{Path: "detail.groups", Title: "Largest group"},
		{Path: "detail.failures", Title: "Last failure"},
		{Path: "detail.discards", Title: "Last dead letter"},
	}
	if rows := d.Processing; len(rows) > 0 && rows[0]["stuck"] == true {
		lines[0].show(rows[0], "key", "for "+formatValue(asDuration, rows[0]["ageSeconds"]))
	}
	if rows := d.Groups; len(rows) > 0 && rows[0]["ready"] != 0 {
		lines[1].show(rows[0], "group", formatValue(asCount, rows[0]["ready"])+" ready, "+formatValue(asShare, rows[0]["share"])+" of all")
	}
	failed, failures := 2, d.Failures
	if len(failures) == 0 { // one error is enough
		failed, failures = 3, d.Discards
	}
	if len(failures) > 0 {
		error := newCell(failures[0], heading{Field: "error"}).withEllipsis()
		lines[failed].show(failures[0], "key", formatValue(asDuration, failures[0]["ageSeconds"])+" ago: "+error)
	}
	return lines
}

func (h *highlight) show(row entry, key, text string) {
	h.Key, h.Text = newCell(row, heading{Field: key}).withEllipsis(), text
}

// A table has rows, for the page and for the text. Path is where they are in
// the report of a queue, or "queues". Note says what is missing, and Empty
// stands in place of rows.
type table struct {
	Path, Title, Note, Empty string

	Chart   *chart // above the rows, or nil
	Open    bool   // if the table is folded
	Columns []heading
	Rows    []row
	link    string // the parameter that selects the item, group or queue of a row
}

// A heading describes a column: where the value is in an entry, and how it is
// shown. Sort is "ascending" or "descending" if the rows are sorted by it.
type heading struct{ Title, Field, Format, Sort string }

// Live reports whether a column makes sense only while the page updates itself.
func (h heading) Live() bool { return h.Format == asRate || h.Format == asGraph }

func (h heading) Numeric() bool {
	return slices.Contains([]string{asCount, asDuration, asShare, asRate, asDecimal, asWorker}, h.Format)
}

type row struct {
	Cells []cell
	Stuck bool
	ID    string // where the order may change
}

// A cell is a value as it is shown. Tone is that of a verdict, and Percent the
// length of the bar of a share.
type cell struct {
	shownKey
	Format, Tone string
	Stuck        bool
	Percent      int
	To           string // the link of a key
	More         *more
}

// more links to n further items of the worker.
type more struct {
	N  int
	To string
}

// The formats of values. The script has them, too.
const (
	asKey, asWords, asError, asYes, asTruth, asQueue, asVerdict = "key", "text", "error", "yes", "truth", "queue", "verdict"
	asCount, asBrief, asShare, asRatio, asDecimal, asDuration   = "count", "brief", "share", "ratio", "decimal", "duration"
	asWorker, asRate, asGraph                                   = "worker", "rate", "graph"
)

func (t table) with(q queueReport, entries []entry) table {
	for _, e := range entries {
		var r row
		for _, h := range t.Columns {
			r.Cells = append(r.Cells, newCell(e, h))
		}
		first := &r.Cells[0]
		r.Stuck = e["stuck"] == true
		first.Stuck = r.Stuck
		switch id, _ := e["id"].(string); {
		case t.link == "queue":
			r.ID, first.To = id, queueReport{ID: id}.to("queue", id)
		case t.link != "" && id != "":
			first.To = q.to(t.link, id)
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
	c := cell{shownKey: shownKey{Text: formatValue(h.Format, value)}, Format: h.Format}
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
		return formatDuration(v.duration())
	case uint64:
		return formatCount(v)
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
		}
		return formatRatio(v)
	}
	panic("debugpage: a value of a type that has no format")
}
