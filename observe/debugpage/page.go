package debugpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	style string
	//go:embed trend.js
	trendScript string
	//go:embed page.js
	pageScript string

	script = trendScript + pageScript
)

// page is the template of the page. It contains the style and the script, so
// that nothing else needs a path, and the policy allows them by their hashes.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"show": func(format string, value any) string { return formatValue(format, value) },
}).Parse(pageText))

var contentSecurityPolicy = "default-src 'none'; script-src '" + hashOf(script) + "'; style-src '" + hashOf(style) + "'; " +
	"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// A view has the data for the template.
type view struct {
	Report report
	Style  template.CSS
	Script template.JS
	// PollMilliseconds is the interval at which the script polls. Refresh is
	// the seconds after which a browser without JavaScript reloads the page.
	PollMilliseconds int64
	Refresh          int
	// Queue is the selected queue, or nil.
	Queue *queueView
	// Overview is the table of all queues, if none is selected.
	Overview table
	// Several reports whether there is an overview to go back to.
	Several bool
	// Found has the items that the request selects, or is nil.
	Found *foundView
	// Rows is the number of rows in each table.
	Rows int
	// Find and Problems are the filter of the overview.
	Find     string
	Problems bool
	// ReadOnly reports whether there are no actions.
	ReadOnly bool
	// SlowReload links to the same page, reloaded every few seconds.
	SlowReload string
}

// A queueView has the data of a queue for the template.
type queueView struct {
	queueReport
	Notices    []string
	Highlights []highlight
	Facts      []gauge
	Counted    []counter
	Charts     []chart
	Heat       heatMap
	Quantities []link
	Configured []fact
	// First, Beside and Folded are the tables: on the first screen, two beside
	// each other, and those that open.
	First, Beside, Folded []table
	// Named reports whether the search for keys has to name the queue. Asked is
	// the number of rows that it keeps, or 0.
	Named bool
	Asked int
	// Open and HeatOpen report whether the folded parts, and the map of shards,
	// are open.
	Open, HeatOpen bool
	// MoreRows links to the page with as many rows as there may be.
	MoreRows string
	Buttons  []button
}

// A link leads to the same page with another query.
type link struct {
	Name, Title, To string
	Current         bool
}

func (h *handler) view(request *http.Request, q query, r report) view {
	v := view{
		Report: r, Style: template.CSS(style), Script: template.JS(script),
		PollMilliseconds: h.options.PollEvery.Milliseconds(), Refresh: q.refresh,
		Several: q.hasQueue, Rows: q.rows, Find: q.find, Problems: q.problems,
		ReadOnly:   h.refusesActions(request) != nil,
		SlowReload: h.address(q, func(values url.Values) { values.Set("refresh", "5") }),
	}
	if r.whole {
		h.addQueue(&v, q, r)
		return v
	}
	v.Overview = overviewTable(r.Queues)
	return v
}

// addQueue adds what is shown of one queue, with the buttons that the client
// may press.
func (h *handler) addQueue(v *view, q query, r report) {
	one := r.Queues[0]
	if one.Found != nil {
		v.Found = h.foundView(q, one)
	} else {
		v.Queue = h.queueView(q, one)
	}
	switch {
	case v.ReadOnly || one.Fault != "":
	case v.Found != nil:
		v.Found.Buttons = h.foundButtons(r.of, one.Found)
	default:
		v.Queue.Buttons = h.queueButtons(r.of, one.Gauges.Paused)
	}
}

func (h *handler) queueView(q query, r queueReport) *queueView {
	v := &queueView{queueReport: r, Named: q.hasQueue, Asked: q.asked, Open: q.refresh > 0, HeatOpen: q.refresh > 0 || q.hasHeat}
	if r.Detail == nil {
		return v
	}
	v.Facts, v.Counted, v.Configured = others(r.facts()), r.counted(), r.configured()
	v.Highlights = r.Detail.highlights()
	v.Charts = r.Detail.Durations.charts()
	v.arrange(r.tables())
	if q.rows < h.options.MaxRows {
		v.MoreRows = h.address(q, func(values url.Values) { values.Set("rows", strconv.Itoa(h.options.MaxRows)) })
	}
	v.Heat = newHeatMap(q.heat, r.Detail.Shards)
	for _, quantity := range quantities {
		v.Quantities = append(v.Quantities, link{
			quantity.Name, quantity.Title,
			h.address(q, func(values url.Values) { values.Set("shards", quantity.Name) }),
			quantity.Name == q.heat,
		})
	}
	if !r.Detail.Configuration.Metrics {
		v.Notices = append(v.Notices, metricsMissing)
	}
	return v
}

// arrange places the tables.
func (v *queueView) arrange(tables []table) {
	for _, t := range tables {
		t.Open = v.Open || t.Path == "detail.discards" && len(t.Rows) > 0 && len(v.Detail.Failures) == 0
		switch {
		case t.Path == "detail.processing":
			v.First = append(v.First, t)
		case t.Path == "detail.groups" && v.Detail.Configuration.Groups, t.Path == "detail.failures":
			v.Beside = append(v.Beside, t)
		default:
			v.Folded = append(v.Folded, t)
		}
	}
}

// others returns the gauges that the page does not show at the top already.
func others(all []gauge) (rest []gauge) {
	top := []string{
		"gauges.ready", "gauges.processing", "gauges.delayed", "gauges.oldestReadySeconds", "gauges.oldestProcessingSeconds",
		"values.keys", "values.weight",
	}
	for _, g := range all {
		if !slices.Contains(top, g.Field) {
			rest = append(rest, g)
		}
	}
	return rest
}

// address returns the query of this page, changed by differ.
func (h *handler) address(q query, differ func(url.Values)) string {
	values := url.Values{}
	if q.hasQueue {
		values.Set("queue", q.queue)
	}
	if q.asked > 0 {
		values.Set("rows", strconv.Itoa(q.asked))
	}
	if q.heat != quantities[0].Name {
		values.Set("shards", q.heat)
	}
	if q.refresh > 0 {
		values.Set("refresh", strconv.Itoa(q.refresh))
	}
	differ(values)
	return "?" + values.Encode()
}

// Address returns the query that selects a queue.
func (c cell) Address() string { return "?" + url.Values{"queue": {c.Text}}.Encode() }

// Live reports whether a column makes sense only while the page updates itself.
func (h heading) Live() bool { return h.Format == asRate || h.Format == asGraph }

// Numeric reports whether the column has numbers.
func (h heading) Numeric() bool {
	return h.Format == asCount || h.Format == asDuration || h.Format == asShare || h.Format == asRate || h.Format == asDecimal || h.Format == asWorker
}

// Clock returns the time of the report without the date.
func (v view) Clock() string { return v.Report.Time.Format(time.TimeOnly) + " UTC" }
