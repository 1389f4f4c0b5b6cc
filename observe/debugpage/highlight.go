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

// highlights returns the lines of a queue, also those that are empty now.
func (d *detailReport) highlights() []highlight {
	stuck := highlight{Path: "detail.processing", Title: "Stuck"}
	if rows := d.Processing; len(rows) > 0 && rows[0].Stuck {
		stuck.Key = shownKey{rows[0].Key, rows[0].KeyLength}.withEllipsis()
		stuck.Text = "for " + formatValue(asDuration, rows[0].AgeSeconds)
	}
	largest := highlight{Path: "detail.groups", Title: "Largest group"}
	if rows := d.Groups; len(rows) > 0 && rows[0].Ready > 0 {
		largest.Key = shownKey{rows[0].Group, rows[0].GroupLength}.withEllipsis()
		largest.Text = formatCount(rows[0].Ready) + " ready, " + formatShare(rows[0].Share) + " of all"
	}
	discards := d.Discards
	if len(d.Failures) > 0 { // one error is enough
		discards = nil
	}
	return []highlight{
		stuck, largest,
		newFailureHighlight("detail.failures", "Last failure", d.Failures),
		newFailureHighlight("detail.discards", "Last dead letter", discards),
	}
}

func newFailureHighlight(path, title string, rows []failedAttempt) highlight {
	h := highlight{Path: path, Title: title}
	if len(rows) > 0 {
		h.Key = shownKey{rows[0].Key, rows[0].KeyLength}.withEllipsis()
		h.Text = formatDuration(rows[0].AgeSeconds.duration()) + " ago: " + shownKey{rows[0].Error, rows[0].ErrorLength}.withEllipsis()
	}
	return h
}
