package debugpage

import (
	"net/url"
	"strconv"
	"strings"
)

// A table has rows, for the page and for the text. Path is where they are in
// the report of a queue, or "queues".
type table struct {
	Path, Title string
	// Note says what is missing. Empty is shown in place of rows.
	Note, Empty string
	// Chart stands above the rows, unless it is nil. Open reports whether a
	// folded table is open.
	Chart   *chart
	Open    bool
	Columns []heading
	Rows    []row
	// link is the parameter that selects the item, the group or the queue of a
	// row by its id.
	link string
}

// A heading describes a column. Field is where the value is in an entry, and
// Format how it is shown. Sort is "ascending" or "descending" if the rows are
// sorted by the column.
type heading struct{ Title, Field, Format, Sort string }

// Live reports whether a column makes sense only while the page updates itself.
func (h heading) Live() bool { return h.Format == asRate || h.Format == asGraph }

// Numeric reports whether the column has numbers.
func (h heading) Numeric() bool {
	switch h.Format {
	case asCount, asDuration, asShare, asRate, asDecimal, asWorker:
		return true
	}
	return false
}

// A row has a cell for each heading. ID distinguishes it from others where the
// order may change.
type row struct {
	Cells []cell
	Stuck bool
	ID    string
}

// A cell is a value as it is shown. Stuck is that of the item of a key, Tone
// that of a verdict, and Percent the length of the bar of a share.
type cell struct {
	shownKey
	Format, Tone string
	Stuck        bool
	Percent      int
	// To is the address that a key links to. More links to the other items of
	// the worker.
	To   string
	More *more
}

// more links to n further items.
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

// with returns the table with rows. They link to pages of the queue.
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

// at returns the value at a path such as "gauges.ready", or nil if there is
// none.
func at(e entry, path string) any {
	name, rest, more := strings.Cut(path, ".")
	if inner, _ := e[name].(entry); more {
		return at(inner, rest)
	}
	return e[name]
}

// unknown is shown in place of an unknown value.
const unknown = "–"

// formatValue formats a value of the report.
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
