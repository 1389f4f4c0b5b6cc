package debugpage

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func writeText(w io.Writer, r report) {
	fmt.Fprintf(w, "%s, %s\n", r.Title, r.Time.Format(time.RFC3339))
	if r.one != nil && r.Queues[0].Fault == "" {
		writeQueue(w, r.Queues[0])
		return
	}
	writeTable(w, overviewTable(r.Queues))
	for _, q := range r.Queues {
		if q.Fault != "" {
			fmt.Fprintf(w, "%s: %s\n", q.ID, q.Fault)
		}
	}
	if text := r.notShownText(); text != "" {
		fmt.Fprintf(w, "and %s\n", text)
	}
}

func writeQueue(w io.Writer, q queueReport) {
	fmt.Fprintf(w, "\n%s: %s, %s\n", q.ID, q.State, q.Verdict.Text)
	if f := q.Found; f != nil {
		for _, notice := range f.notices() {
			fmt.Fprintf(w, "%s\n", notice)
		}
		for _, t := range q.foundTables() {
			writeTable(w, t)
		}
		return
	}
	asFact := func(f figure) fact { return fact{f.Title, f.Text + f.Limit} }
	writeFacts(w, "Now", each(q.Now(), asFact))
	writeFacts(w, "Since creation", each(q.Counted(), asFact))
	writeDurations(w, q.Detail.Durations.charts())
	for _, t := range q.tables() {
		writeTable(w, t)
	}
	shards := each(quantities, func(of quantity) []string {
		return []string{of.Title + ": " + newHeatMap(of, q.Detail.Shards).Summary}
	})
	writeLines(w, "Shards", shards)
	writeFacts(w, "Configuration", q.Configured())
}

func writeDurations(w io.Writer, charts []chart) {
	lines := [][]string{{metricsMissing}}
	for i, c := range charts {
		if i == 0 {
			lines[0] = append([]string{""}, each(c.Histogram.Points(), func(p point) string { return p.Title })...)
		}
		lines = append(lines, append([]string{c.Title}, each(c.Histogram.Points(), func(p point) string { return p.Text })...))
	}
	writeLines(w, "Durations", lines)
}

func writeFacts(w io.Writer, title string, facts []fact) {
	writeLines(w, title, each(facts, func(f fact) []string { return []string{f.Title, f.Text} }))
}

func writeTable(w io.Writer, t table) {
	columns := slices.DeleteFunc(slices.Clone(t.Columns), heading.Live)
	lines := [][]string{each(columns, func(h heading) string { return h.Title })}
	note := t.Note
	switch {
	case len(t.Rows) == 0:
		lines, note = nil, orNone(note == "", t.Empty, note)
	case t.Chart != nil:
		points := each(t.Chart.Histogram.Points(), func(p point) string { return p.Title + " " + p.Text })
		note = t.Chart.Title + " " + t.Chart.Meaning + ": " + strings.Join(points, ", ")
	}
	for _, r := range t.Rows {
		lines = append(lines, r.texts(t.Columns))
	}
	writeLines(w, t.Title+orNone(note != "", "\n  "+note, ""), lines)
}

// texts returns the cells of a row. No key has a tab, because keys with control
// characters are quoted.
func (r row) texts(columns []heading) (texts []string) {
	for i, c := range r.Cells {
		if !columns[i].Live() {
			texts = append(texts, orNone(i == 0 && r.Stuck, "stuck: ", "")+c.inWords())
		}
	}
	return texts
}

func writeLines(w io.Writer, title string, lines [][]string) {
	fmt.Fprintf(w, "\n%s\n", title)
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintf(aligned, "  %s\n", strings.Join(line, "\t"))
	}
	_ = aligned.Flush() // cannot fail: w is a buffer
}
