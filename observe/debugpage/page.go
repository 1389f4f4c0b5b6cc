package debugpage

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

var (
	//go:embed page.html page.css page.js
	files embed.FS

	style, script = file("page.css"), file("page.js")
)

func file(name string) string {
	text, _ := files.ReadFile(name)
	return string(text)
}

// page contains the style and the script, so that nothing else needs a path,
// and the policy allows them by their hashes.
var page = template.Must(template.New("page").
	Funcs(template.FuncMap{"show": formatValue, "of": ofCapacity, "start": startOf, "rest": endOf}).Parse(file("page.html")))

var contentSecurityPolicy = "default-src 'none'; script-src '" + hashOf(script) + "'; style-src '" + hashOf(style) + "'; " +
	"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// A view has the data for the template. Queue is nil for an Overview. Several
// says that there is one to go back to.
type view struct {
	Report                      report
	Style                       template.CSS
	Script                      template.JS
	PollMilliseconds            int64
	Refresh, Rows               int
	Queue                       *queueView
	Overview                    table
	Several, Problems, ReadOnly bool
	Static                      bool // a search, which would visit many items each time
	Find, SlowReload            string
}

type queueView struct {
	queueReport
	Notices    []string
	Charts     []chart
	Heat       heatMap
	Quantities []link
	// First are the tables on the first screen, and Folded those that open.
	First, Folded  []table
	Open, HeatOpen bool   // the folded parts
	Named          bool   // the search has to name the queue
	Rows           int    // that the search keeps, or 0
	Back, MoreRows string // the addresses of the queue, from found items, and of more rows
	Buttons        []button
}

type link struct {
	Name, Title, To string
	Current         bool
}

func (h *handler) view(request *http.Request, q query, r report) view {
	v := view{
		Report: r, Style: template.CSS(style), Script: template.JS(script),
		PollMilliseconds: h.options.PollEvery.Milliseconds(), Refresh: q.refresh,
		Several: q.hasQueue, Rows: q.rows, Find: q.find, Problems: q.problems,
		ReadOnly:   h.options.AllowActions == nil,
		SlowReload: q.address("refresh", "5"),
	}
	if r.one == nil {
		v.Overview = overviewTable(r.Queues)
		return v
	}
	one := r.Queues[0]
	v.Queue = &queueView{
		queueReport: one, Named: q.hasQueue, Rows: q.asked,
		Open: q.refresh > 0, HeatOpen: q.refresh > 0 || q.hasHeat, Back: q.address("", ""),
	}
	switch {
	case one.Found != nil:
		v.Static = one.Found.choice.by != "item"
		v.Queue.Notices, v.Queue.First = one.Found.Notices, one.foundTables()
	case one.Detail != nil:
		v.Queue.addDetail(q)
		if q.rows < h.options.MaxRows {
			v.Queue.MoreRows = q.address("rows", strconv.Itoa(h.options.MaxRows))
		}
	}
	if one.Fault == "" {
		v.Queue.Buttons = h.buttons(request, *r.one, one)
	}
	return v
}

func (v *queueView) addDetail(q query) {
	v.Charts = v.Detail.Durations.charts()
	for _, t := range v.tables() {
		t.Open = v.Open || t.Path == "detail.discards" && len(t.Rows) > 0 && len(v.Detail.Failures) == 0
		switch {
		case t.Path == "detail.processing", t.Path == "detail.groups" && v.Detail.options.Groups, t.Path == "detail.failures":
			v.First = append(v.First, t)
		default:
			v.Folded = append(v.Folded, t)
		}
	}
	for _, quantity := range quantities {
		current := quantity.Name == q.heat
		if current {
			v.Heat = newHeatMap(quantity, v.Detail.Shards)
		}
		v.Quantities = append(v.Quantities, link{quantity.Name, quantity.Title, q.address("shards", quantity.Name), current})
	}
	if !v.Detail.options.Metrics {
		v.Notices = append(v.Notices, metricsMissing)
	}
}

func (q query) address(name, value string) string {
	values := url.Values{}
	set := func(is bool, name, value string) {
		if is {
			values.Set(name, value)
		}
	}
	set(q.hasQueue, "queue", q.queue)
	set(q.asked > 0, "rows", strconv.Itoa(q.asked))
	set(q.heat != quantities[0].Name, "shards", q.heat)
	set(q.refresh > 0, "refresh", strconv.Itoa(q.refresh))
	set(name != "", name, value)
	return "?" + values.Encode()
}

// Summary counts the problems of the overview.
func (v view) Summary() string {
	n := len(v.Report.Queues) + v.Report.NotShown
	return formatCount(n) + orNone(n == 1, " queue, ", " queues, ") + formatCount(v.Report.problems()) + " with a problem"
}

func (v view) Clock() string { return v.Report.Time.Format(time.TimeOnly) + " UTC" }

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
	fmt.Fprintf(w, "\n%s: %s, %s\n", q.ID, q.State, q.Verdict.inWords())
	if f := q.Found; f != nil {
		for _, notice := range f.Notices {
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

// texts returns the cells of a row. No key has a tab: it would be quoted.
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
