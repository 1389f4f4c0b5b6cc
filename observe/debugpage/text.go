package debugpage

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// writeText writes a report for a terminal.
func writeText(w io.Writer, r report) {
	fmt.Fprintf(w, "%s, %s\n", r.Title, r.Time.Format(time.RFC3339))
	if r.whole && r.Queues[0].Fault == "" {
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
	if q.Found != nil {
		writeFound(w, q)
		return
	}
	var now, counted []fact
	for _, g := range q.facts() {
		now = append(now, fact{g.Title, g.Text()})
	}
	writeFacts(w, "Now", now)
	for _, c := range q.counted() {
		counted = append(counted, fact{c.Title, c.Text()})
	}
	writeFacts(w, "Since creation", counted)
	writeDurations(w, q.Detail.Durations)
	for _, t := range q.tables() {
		writeTable(w, t)
	}
	fmt.Fprintf(w, "\nShards\n")
	for _, quantity := range quantities {
		fmt.Fprintf(w, "  %s: %s\n", quantity.Title, newHeatMap(quantity.Name, q.Detail.Shards).Summary)
	}
	writeFacts(w, "Configuration", q.configured())
}

func writeFound(w io.Writer, q queueReport) {
	for _, notice := range q.Found.notices() {
		fmt.Fprintf(w, "%s\n", notice)
	}
	if facts := q.Found.facts(); len(facts) > 0 {
		writeFacts(w, q.Found.Title, facts)
	}
	writeTable(w, q.foundTable())
}

func writeFacts(w io.Writer, title string, facts []fact) {
	fmt.Fprintf(w, "\n%s\n", title)
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range facts {
		fmt.Fprintf(lines, "  %s\t%s\n", f.Title, f.Text)
	}
	_ = lines.Flush() // cannot fail: w is a buffer
}

func writeDurations(w io.Writer, d *durations) {
	fmt.Fprintf(w, "\nDurations\n")
	if d == nil {
		fmt.Fprintf(w, "  %s\n", metricsMissing)
		return
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(lines, "  \tcount\tmean\tp50\tp90\tp99\n")
	for _, c := range d.charts() {
		h := c.Histogram
		fmt.Fprintf(lines, "  %s\t%s\t%s\t%s\t%s\t%s\n",
			c.Title, formatCount(h.Count), h.mean(), h.quantile(h.P50Seconds), h.quantile(h.P90Seconds), h.quantile(h.P99Seconds))
	}
	_ = lines.Flush()
}

func writeTable(w io.Writer, t table) {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	if t.Note != "" {
		fmt.Fprintf(w, "  %s\n", t.Note)
	}
	if len(t.Rows) == 0 {
		if t.Note == "" {
			fmt.Fprintf(w, "  %s\n", t.Empty)
		}
		return
	}
	if c := t.Chart; c != nil {
		h := c.Histogram
		fmt.Fprintf(w, "  %s %s: %s, mean %s, p50 %s, p90 %s, p99 %s\n", c.Title, c.Meaning,
			formatCount(h.Count), h.mean(), h.quantile(h.P50Seconds), h.quantile(h.P90Seconds), h.quantile(h.P99Seconds))
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var titles []string
	for _, c := range t.Columns {
		if !c.Live() {
			titles = append(titles, c.Title)
		}
	}
	fmt.Fprintf(lines, "  %s\n", strings.Join(titles, "\t"))
	for _, r := range t.Rows {
		fmt.Fprintf(lines, "  %s\n", strings.Join(r.texts(), "\t"))
	}
	_ = lines.Flush()
}

// texts returns the cells of a row for a terminal. No key has a tab or a
// control character, because keys with these are quoted.
func (r row) texts() (texts []string) {
	for i, c := range r.Cells {
		switch {
		case c.Format == asRate || c.Format == asGraph:
			continue
		case i == 0 && r.Stuck:
			c.Text = "stuck: " + shownKey{c.Text, c.KeyLength}.inWords()
		default:
			c.Text = shownKey{c.Text, c.KeyLength}.inWords()
		}
		texts = append(texts, c.Text)
	}
	return texts
}
