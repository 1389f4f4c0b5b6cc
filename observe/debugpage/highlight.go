package debugpage

// A highlight is a line below the verdict of a narrow page, where the tables
// are below the first screen: the item that is stuck longest, the group with
// the most ready items, or the last error. The script updates it.
type highlight struct {
	// Path is where the rows are in the report, and the id of the section that
	// the line links to.
	Path, Title string
	// Key is that of the first row, and Text follows it. The line is hidden if
	// Key is empty.
	Key, Text string
}

// Highlights returns the lines of a queue, also those that are empty now.
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
