package debugpage

// A table has rows, for the page and for the text.
type table struct {
	// Path is where the rows are in the report of a queue. For the table of all
	// queues it is "queues".
	Path, Title string
	// Note says what is missing. Empty is shown in place of rows.
	Note, Empty string
	// Chart stands above the rows, unless it is nil.
	Chart *chart
	// Open reports whether a folded table is open.
	Open    bool
	Columns []heading
	Rows    []row
}

// A heading describes a column.
type heading struct {
	Title string
	// Field is where the value is in a row of the report. Format is how it is
	// shown.
	Field, Format string
	// Sort is "ascending" or "descending" if the rows are sorted by the column.
	Sort string
}

// A row has a cell for each heading.
type row struct {
	Cells []cell
	Stuck bool
	// ID distinguishes the row from others where the order may change.
	ID string
}

// A cell is a value as it is shown.
type cell struct {
	Format, Text string
	// KeyLength is the length of a key, or of the name of a group, that was
	// cut.
	KeyLength int
	// Stuck reports whether the item of this key is stuck.
	Stuck bool
	// Tone is the tone of a verdict.
	Tone string
	// Percent is the length of the bar of a share.
	Percent int
	// To is the address that the key links to. More links to the other items of
	// the worker.
	To   string
	More *more
}

// more links to n further items.
type more struct {
	N  int
	To string
}

// The formats of cells. The script has them, too.
const (
	asKey      = "key"
	asWords    = "text"
	asError    = "error"
	asCount    = "count"
	asDuration = "duration"
	asShare    = "share"
	asYes      = "yes"
	asTruth    = "truth"
	asWorker   = "worker"
	asQueue    = "queue"
	asVerdict  = "verdict"
	asRate     = "rate"
	asGraph    = "graph"
	asRatio    = "ratio"
	asBrief    = "brief"
	asDecimal  = "decimal"
)

// A column is a heading with the value that a row of type R has there.
type column[R any] struct {
	heading
	value func(R) any
}

// newTable returns a table of rows.
func newTable[R any](t table, columns []column[R], rows []R) table {
	for _, c := range columns {
		t.Columns = append(t.Columns, c.heading)
	}
	for _, r := range rows {
		cells := make([]cell, len(columns))
		for i, c := range columns {
			cells[i] = newCell(c.Format, c.value(r))
		}
		t.Rows = append(t.Rows, newRow(r, cells))
	}
	return t
}

// newRow returns a row with its cells, and what it has beside them.
func newRow(of any, cells []cell) row {
	r := row{Cells: cells}
	switch of := of.(type) {
	case item:
		cells[0].KeyLength, cells[0].Stuck, r.Stuck = of.KeyLength, of.Stuck, of.Stuck
		for i := range cells[1:] {
			if cells[i+1].Format == asWords { // the group of the item
				cells[i+1].KeyLength = of.GroupLength
			}
		}
	case failure:
		cells[0].KeyLength = of.KeyLength
	case failedAttempt:
		of.addLengths(cells)
	case groupAttempts:
		cells[0].KeyLength = of.GroupLength
	case group:
		cells[0].KeyLength = of.GroupLength
	case queueReport:
		r.ID, cells[1].Tone = of.ID, of.Verdict.Tone
	}
	return r
}

func newCell(format string, value any) cell {
	c := cell{Format: format, Text: formatValue(format, value)}
	if format == asShare {
		c.Percent = int(value.(float64) * 100)
	}
	return c
}

// unknown is shown in place of an unknown value.
const unknown = "–"

// formatValue formats a value.
func formatValue(format string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return orNone(format == asTruth, "no", "")
	case int:
		if format == asWorker && v == 0 {
			return unknown
		}
		if format == asBrief {
			return formatBrief(v)
		}
		return formatCount(v)
	case uint64:
		return formatCount(v)
	case float64:
		if format == asShare {
			return formatShare(v)
		}
		if format == asDecimal {
			return formatDecimal(v)
		}
		return formatRatio(v)
	case seconds:
		return formatDuration(v.duration())
	case *int:
		return formatPointer(format, v)
	case *float64:
		return formatPointer(format, v)
	case *uint64:
		return formatPointer(format, v)
	case *seconds:
		return formatPointer(format, v)
	}
	panic("debugpage: a value of a type that has no format")
}

func formatPointer[V any](format string, v *V) string {
	if v == nil {
		return unknown
	}
	return formatValue(format, *v)
}
