package operations_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// TestDashboardLoads checks that the dashboard has nothing that Grafana rejects
// when it loads the dashboard, or shows wrongly without a message.
func TestDashboardLoads(t *testing.T) {
	require.Empty(t, faultsOf(readDashboard(t)))
}

// TestFaultsOfDashboardsAreFound makes a fault of each kind in the dashboard.
func TestFaultsOfDashboardsAreFound(t *testing.T) {
	for fault, spoil := range map[string]func(d *dashboard){
		"an id":                         func(d *dashboard) { d.ID = new(7) },
		"inputs":                        func(d *dashboard) { d.Inputs = []any{"DS_PROMETHEUS"} },
		"no uid":                        func(d *dashboard) { d.UID = "" },
		"a short uid":                   func(d *dashboard) { d.UID = "shardq" },
		"a long uid":                    func(d *dashboard) { d.UID = strings.Repeat("q", 41) },
		"a uid with a blank":            func(d *dashboard) { d.UID = "work queues" },
		"no title":                      func(d *dashboard) { d.Title = "" },
		"no description":                func(d *dashboard) { d.Description = "" },
		"an old schema":                 func(d *dashboard) { d.SchemaVersion = 16 },
		"a schema to come":              func(d *dashboard) { d.SchemaVersion = 1000 },
		"a time that is none":           func(d *dashboard) { d.Time.From = "yesterday" },
		"an end that is none":           func(d *dashboard) { d.Time.To = "" },
		"a refresh without a unit":      func(d *dashboard) { d.Refresh = "30" },
		"no list of annotations":        func(d *dashboard) { d.Annotations.List = nil },
		"a variable without a name":     func(d *dashboard) { d.Templating.List[1].Name = "" },
		"a variable of Grafana's":       func(d *dashboard) { d.Templating.List[1].Name = "__job" },
		"two variables of a name":       func(d *dashboard) { d.Templating.List[1].Name = "queue" },
		"a variable before what it has": func(d *dashboard) { slices.Reverse(d.Templating.List) },
		"a variable of no type":         func(d *dashboard) { d.Templating.List[1].Type = "label" },
		"a variable without a label":    func(d *dashboard) { d.Templating.List[1].Label = "" },
		"a variable of no source":       func(d *dashboard) { d.Templating.List[1].Datasource.UID = "prometheus" },
		"two queries in a variable":     func(d *dashboard) { d.Templating.List[1].Definition = "label_values(shardq_shards, name)" },
		"a variable that is one of all": func(d *dashboard) { d.Templating.List[1].AllValue = "" },
		"a query of a variable without a reference": func(d *dashboard) {
			d.Templating.List[1].Query.(map[string]any)["refId"] = ""
		},
		"a source of another type":      func(d *dashboard) { d.Templating.List[0].Query = "loki" },
		"two panels of an id":           func(d *dashboard) { d.Panels[1].ID = d.Panels[2].ID },
		"a panel without an id":         func(d *dashboard) { d.Panels[1].ID = 0 },
		"a panel of no type":            func(d *dashboard) { d.Panels[1].Type = "graph" },
		"a panel without a title":       func(d *dashboard) { d.Panels[1].Title = "" },
		"two panels of a title":         func(d *dashboard) { d.Panels[1].Title = d.Panels[2].Title },
		"a panel without a description": func(d *dashboard) { d.Panels[1].Description = "" },
		"a panel beyond the edge":       func(d *dashboard) { d.Panels[1].GridPos.X = 21 },
		"a panel without a height":      func(d *dashboard) { d.Panels[1].GridPos.H = 0 },
		"a panel on another":            func(d *dashboard) { d.Panels[2].GridPos = d.Panels[1].GridPos },
		"panels in no order":            func(d *dashboard) { d.Panels[1], d.Panels[8] = d.Panels[8], d.Panels[1] },
		"panels in an open row":         func(d *dashboard) { d.Panels[0].Panels = []any{"panel"} },
		"a row that is closed":          func(d *dashboard) { d.Panels[0].Collapsed = true },
		"a narrow row":                  func(d *dashboard) { d.Panels[0].GridPos.W = 12 },
		"a panel of one's own source":   func(d *dashboard) { d.Panels[1].Datasource.UID = "PBFA97CFB590B2093" },
		"a panel of another source":     func(d *dashboard) { d.Panels[1].Datasource.Type = "loki" },
		"no options":                    func(d *dashboard) { d.Panels[1].Options = nil },
		"a unit that is none":           func(d *dashboard) { d.Panels[1].FieldConfig.Defaults.Unit = "seconds" },
		"no overrides":                  func(d *dashboard) { d.Panels[1].FieldConfig.Overrides = nil },
		"thresholds in percent":         func(d *dashboard) { d.Panels[1].FieldConfig.Defaults.Thresholds.Mode = "percentage" },
		"no thresholds":                 func(d *dashboard) { d.Panels[1].FieldConfig.Defaults.Thresholds.Steps = nil },
		"a first threshold with a value": func(d *dashboard) {
			d.Panels[1].FieldConfig.Defaults.Thresholds.Steps = []step{{"green", new(1.0)}}
		},
		"thresholds that fall": func(d *dashboard) {
			d.Panels[1].FieldConfig.Defaults.Thresholds.Steps = []step{{"green", nil}, {"red", new(2.0)}, {"red", new(1.0)}}
		},
		"a panel without queries":       func(d *dashboard) { d.Panels[1].Targets = nil },
		"two queries of a reference":    func(d *dashboard) { d.Panels[7].Targets[1].RefID = "A" },
		"a query without a reference":   func(d *dashboard) { d.Panels[1].Targets[0].RefID = "" },
		"a query of one's own source":   func(d *dashboard) { d.Panels[1].Targets[0].Datasource.UID = "PBFA97CFB590B2093" },
		"a query without an expression": func(d *dashboard) { d.Panels[1].Targets[0].Expr = "" },
		"an expression that is none":    func(d *dashboard) { d.Panels[1].Targets[0].Expr = "sum(" },
		"a query without a legend":      func(d *dashboard) { d.Panels[1].Targets[0].LegendFormat = "" },
		"two queries of a legend":       func(d *dashboard) { d.Panels[7].Targets[1].LegendFormat = d.Panels[7].Targets[0].LegendFormat },
		"a legend with a lost label":    func(d *dashboard) { d.Panels[1].Targets[0].LegendFormat = "{{name}}" },
		"a legend that is half written": func(d *dashboard) { d.Panels[7].Targets[0].LegendFormat = "{{name} adds" },
		"a legend that does not tell":   func(d *dashboard) { d.Panels[7].Targets[0].LegendFormat = "adds" },
	} {
		t.Run(fault, func(t *testing.T) {
			d := readDashboard(t)
			spoil(&d)
			require.NotEmpty(t, faultsOf(d))
		})
	}
}

// faults are the faults of a dashboard.
type faults []string

// unless records a fault, unless ok.
func (f *faults) unless(right bool, format string, arguments ...any) {
	if !right {
		*f = append(*f, fmt.Sprintf(format, arguments...))
	}
}

// matches records a text that does not match a pattern.
func (f *faults) matches(pattern, text, what string) {
	f.unless(regexp.MustCompile(pattern).MatchString(text), "%s is %q", what, text)
}

// Grafana 12 accepts these schemas as they are. It rewrites older ones.
const oldestSchema, newestSchema = 41, 42

// faultsOf returns the faults that Grafana, or its readers, would notice.
func faultsOf(d dashboard) (f faults) {
	f.unless(d.ID == nil, "it has the id of a database that it came from")
	f.unless(d.Inputs == nil, "it has inputs, which are asked for only where it is imported by hand")
	f.matches(`^[A-Za-z0-9_-]{8,40}$`, d.UID, "the uid")
	f.unless(d.Title != "", "it has no title")
	f.unless(d.Description != "", "it has no description")
	f.unless(d.SchemaVersion >= oldestSchema && d.SchemaVersion <= newestSchema, "its schema is %d", d.SchemaVersion)
	f.matches(`^now-\d+[smhd]$`, d.Time.From, "the begin")
	f.matches(`^now$`, d.Time.To, "the end")
	f.matches(`^\d+[smh]$`, d.Refresh, "the refresh")
	f.unless(d.Annotations.List != nil, "it has no list of annotations")
	f.addVariables(d.Templating.List)
	f.addPanels(d.Panels)
	return f
}

// addVariables adds the faults of variables. Each is queried when those before
// it are known.
func (f *faults) addVariables(variables []variable) {
	known := map[string]bool{}
	for _, v := range variables {
		f.matches(`^[A-Za-z][A-Za-z0-9_]*$`, v.Name, "a variable's name")
		f.unless(!known[v.Name], "two variables %q", v.Name)
		f.unless(v.Label != "", "variable %q has no label", v.Name)
		switch v.Type {
		case "datasource":
			f.unless(v.Query == "prometheus", "variable %q is of sources of type %v", v.Name, v.Query)
		case "query":
			f.addQuery(v, known)
		default:
			f.unless(false, "variable %q is of the type %q", v.Name, v.Type)
		}
		known[v.Name] = true
	}
}

func (f *faults) addQuery(v variable, known map[string]bool) {
	f.addSource(v.Datasource, "variable "+v.Name)
	for _, match := range mention.FindAllStringSubmatch(v.Definition+v.Datasource.UID, -1) {
		f.unless(known[match[1]], "variable %q is before %q, which it has", v.Name, match[1])
	}
	query, _ := v.Query.(map[string]any)
	f.unless(query["query"] == v.Definition, "variable %q is defined as %q, and asks for %v", v.Name, v.Definition, query["query"])
	reference, _ := query["refId"].(string)
	f.unless(reference != "", "the query of variable %q has no reference", v.Name)
	f.unless(!v.IncludeAll || v.AllValue == ".*", "all of variable %q is %q", v.Name, v.AllValue)
}

// addPanels adds the faults of panels and of their positions.
func (f *faults) addPanels(panels []panel) {
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]bool{}
	bottom := 0
	for _, p := range panels {
		f.unless(p.ID > 0 && !ids[p.ID], "panel %q has the id %d", p.Title, p.ID)
		ids[p.ID] = true
		f.unless(p.Title != "" && !titles[p.Type+p.Title], "a panel has the title %q", p.Title)
		titles[p.Type+p.Title] = true
		f.addPlace(p, taken)
		f.unless(p.GridPos.Y >= bottom, "panel %q comes after those below it, and so belongs to another row", p.Title)
		bottom = p.GridPos.Y
		if p.Type == "row" {
			f.unless(!p.Collapsed && len(p.Panels) == 0, "row %q is closed, or is open and has panels of its own, which are not shown", p.Title)
			f.unless(p.GridPos.X == 0 && p.GridPos.W == 24 && p.GridPos.H == 1, "row %q is not a line", p.Title)
			continue
		}
		f.addPanel(p)
	}
}

// addPlace adds a fault if a panel is not within the 24 columns, or overlaps
// another.
func (f *faults) addPlace(p panel, taken map[[2]int]bool) {
	at := p.GridPos
	f.unless(at.X >= 0 && at.Y >= 0 && at.W > 0 && at.H > 0 && at.X+at.W <= 24, "panel %q lies at %v", p.Title, at)
	for x := at.X; x < at.X+at.W; x++ {
		for y := at.Y; y < at.Y+at.H; y++ {
			f.unless(!taken[[2]int{x, y}], "panel %q lies on another", p.Title)
			taken[[2]int{x, y}] = true
		}
	}
}

// units are the units of Grafana that are used.
var units = []string{"short", "s", "ops", "percentunit"}

// wanted are the options that a panel must have, by its type.
var wanted = map[string]string{"stat": "reduceOptions", "timeseries": "legend"}

func (f *faults) addPanel(p panel) {
	f.unless(p.Description != "", "panel %q has no description", p.Title)
	option, known := wanted[p.Type]
	f.unless(known, "panel %q is of the type %q", p.Title, p.Type)
	f.unless(p.Options[option] != nil, "panel %q has no option %s", p.Title, option)
	f.addSource(p.Datasource, "panel "+p.Title)
	f.unless(slices.Contains(units, p.FieldConfig.Defaults.Unit), "panel %q is in %q", p.Title, p.FieldConfig.Defaults.Unit)
	f.unless(p.FieldConfig.Overrides != nil, "panel %q has no overrides", p.Title)
	f.addThresholds(p)
	f.unless(len(p.Targets) > 0, "panel %q asks for nothing", p.Title)
	references, legends := map[string]bool{}, map[string]bool{}
	for _, target := range p.Targets {
		f.matches(`^[A-Z]$`, target.RefID, "the reference of a query of "+p.Title)
		f.unless(!references[target.RefID], "panel %q has two queries %s", p.Title, target.RefID)
		references[target.RefID] = true
		f.unless(!legends[target.LegendFormat], "panel %q has two legends %q", p.Title, target.LegendFormat)
		legends[target.LegendFormat] = true
		f.addSource(target.Datasource, "a query of "+p.Title)
		f.addLegend(p, target)
	}
}

// addSource adds a fault if something does not query the source that is
// selected at the top.
func (f *faults) addSource(s source, of string) {
	f.unless(s == source{"prometheus", "${datasource}"}, "%s has the source %v", of, s)
}

// addThresholds adds a fault if the first threshold is not the base, or one is
// not above the one before.
func (f *faults) addThresholds(p panel) {
	thresholds := p.FieldConfig.Defaults.Thresholds
	f.unless(thresholds.Mode == "absolute", "the thresholds of panel %q are in %q", p.Title, thresholds.Mode)
	f.unless(len(thresholds.Steps) > 0, "panel %q has no threshold", p.Title)
	for i, s := range thresholds.Steps {
		if i == 0 {
			f.unless(s.Value == nil, "the first threshold of panel %q is not the base", p.Title)
			continue
		}
		f.unless(s.Value != nil && (i == 1 || *s.Value > *thresholds.Steps[i-1].Value), "threshold %d of panel %q does not rise", i, p.Title)
	}
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// addLegend adds a fault if the legend of a query lacks a label that
// distinguishes its lines, or has another.
func (f *faults) addLegend(p panel, target target) {
	f.unless(target.LegendFormat != "", "a query of panel %q has no legend", p.Title)
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(filled.Replace(target.Expr))
	if err != nil {
		f.unless(false, "%q: %v", target.Expr, err)
		return
	}
	var named []string
	for _, match := range placeholder.FindAllStringSubmatch(target.LegendFormat, -1) {
		named = append(named, match[1])
	}
	rest := placeholder.ReplaceAllString(target.LegendFormat, "")
	f.unless(!strings.ContainsAny(rest, "{}"), "the legend %q is half written", target.LegendFormat)
	slices.Sort(named)
	labels := slices.Sorted(maps.Keys(labelsOf(tree)))
	f.unless(slices.Equal(named, labels), "the legend %q is of lines with the labels %v", target.LegendFormat, labels)
}

// labelsOf returns the labels of the result of an expression: those by which it
// aggregates.
func labelsOf(e parser.Expr) map[string]bool {
	switch e := e.(type) {
	case *parser.AggregateExpr:
		if e.Op == parser.TOPK {
			return labelsOf(e.Expr)
		}
		left := map[string]bool{}
		for _, label := range e.Grouping {
			left[label] = true
		}
		return left
	case *parser.BinaryExpr:
		return labelsOf(e.LHS)
	case *parser.Call:
		left := labelsOf(e.Args[len(e.Args)-1])
		if e.Func.Name == "histogram_quantile" {
			delete(left, "le")
		}
		return left
	case *parser.ParenExpr:
		return labelsOf(e.Expr)
	}
	return map[string]bool{"all": true}
}
