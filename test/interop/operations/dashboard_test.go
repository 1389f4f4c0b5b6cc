package operations_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/stretchr/testify/require"
)

// A dashboard has the checked part of Grafana's classic model.
type dashboard struct {
	ID            *int
	UID           string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type, Definition string
			Datasource             source
		}
	}
	Panels []panel
}

type source struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               source
	Targets                  []target
}

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                source
}

// filled replaces the variables in an expression.
var filled = strings.NewReplacer("$job", ".*", "$queue", ".*", "$__rate_interval", "5m")

func readDashboard(t *testing.T) (d dashboard) {
	require.NoError(t, json.Unmarshal([]byte(readDocument(t, "grafana", "shardq.json")), &d))
	require.NotEmpty(t, d.Panels)
	return d
}

var (
	mention     = regexp.MustCompile(`\$\{?(\w+)\}?`)
	placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// TestDashboardLoads checks for what Grafana rejects when it loads the
// dashboard, or shows wrongly without a message.
func TestDashboardLoads(t *testing.T) {
	d := readDashboard(t)
	require.Nil(t, d.ID, "the id of a database that it came from")
	require.Regexp(t, `^[A-Za-z0-9_-]{8,40}$`, d.UID)
	require.Contains(t, []int{41, 42}, d.SchemaVersion, "which Grafana 12 accepts as they are")
	known, used := map[string]bool{}, map[string]bool{}
	use := func(text string) {
		for _, match := range mention.FindAllStringSubmatch(text, -1) {
			used[match[1]] = true
		}
	}
	selected := source{"prometheus", "${datasource}"}
	for _, v := range d.Templating.List {
		if v.Type == "query" { // asked when the variables before it are known
			require.Equal(t, selected, v.Datasource, v.Name)
			use(v.Definition + v.Datasource.UID)
			require.Subset(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(used)), v.Name)
			selector := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(v.Definition)
			require.NotNil(t, selector, v.Definition)
			parse(t, selector[1])
		}
		require.False(t, known[v.Name])
		known[v.Name] = true
	}
	ids, taken := map[int]bool{}, map[[2]int]bool{}
	for _, p := range d.Panels {
		require.False(t, p.ID <= 0 || ids[p.ID], "%s has the id %d", p.Title, p.ID)
		ids[p.ID] = true
		at := p.GridPos
		require.True(t, at.X >= 0 && at.W > 0 && at.H > 0 && at.X+at.W <= 24, "%s lies at %v", p.Title, at)
		for cell := range at.W * at.H {
			place := [2]int{at.X + cell%at.W, at.Y + cell/at.W}
			require.False(t, taken[place], "%s lies on another", p.Title)
			taken[place] = true
		}
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.Equal(t, selected, p.Datasource, p.Title)
		references := map[string]bool{}
		for _, target := range p.Targets {
			require.Equal(t, selected, target.Datasource, p.Title)
			require.False(t, references[target.RefID], p.Title)
			references[target.RefID] = true
			use(strings.ReplaceAll(target.Expr, "$__rate_interval", ""))
			requireLegend(t, target)
		}
	}
	require.Equal(t, known, used)
}

// requireLegend fails if the legend of a query lacks a label that distinguishes
// its lines, or has another.
func requireLegend(t *testing.T, target target) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(filled.Replace(target.Expr))
	require.NoError(t, err, target.Expr)
	var named []string
	for _, match := range placeholder.FindAllStringSubmatch(target.LegendFormat, -1) {
		named = append(named, match[1])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(labelsOf(tree))), named, "the legend %q", target.LegendFormat)
	require.NotEmpty(t, target.LegendFormat)
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

// TestDashboardShowsWhatIsExported checks that each expression is valid PromQL
// and names only series that exist, of the selected queues, and that every
// series is shown.
func TestDashboardShowsWhatIsExported(t *testing.T) {
	var names []string
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			selected := parse(t, target.Expr)
			require.Equal(t, len(selected), strings.Count(target.Expr, `{job=~"$job", name=~"$queue"}`), target.Expr)
			names = append(names, selected...)
		}
	}
	slices.Sort(names)
	require.Equal(t, slices.Sorted(maps.Keys(exported(t))), slices.Compact(names))
}

// TestPanels checks panels whose expressions leave out other series: shares of
// runs that failed among shardq's queues, although others export adds as well;
// of the capacity of the instances with one; and all results of the ten groups
// with most attempts.
func TestPanels(t *testing.T) {
	const one, of = `{name="q", job="program", instance="one"} `, `{name="q", job="program", instance="boundless"} `
	load := "load 1m\n" +
		"  shardq_shards" + one + "32x20\n  shardq_backoffs_total" + one + "0+30x20\n  workqueue_adds_total" + one + "0+60x20\n" +
		`  workqueue_adds_total{name="another", job="program", instance="one"} 0+600x20` + "\n" +
		`  workqueue_adds_total{name="q", job="another", instance="two"} 0+600x20` + "\n" +
		"  shardq_held_items" + one + "50x20\n  shardq_capacity_items" + one + "100x20\n  shardq_held_items" + of + "900x20\n" +
		"  shardq_pending_weight" + one + "50x20\n  shardq_pending_capacity" + one + "100x20\n  shardq_pending_weight" + of + "900x20\n"
	for group := range 12 {
		for i, result := range []string{"success", "error", "panic"} {
			load += fmt.Sprintf(`  shardq_group_attempts_total{name="q", job="program", instance="one", group="%02d", result=%q} 0+%dx20`+"\n",
				group, result, (group+1)*(i+1))
		}
	}
	stored, panels := promqltest.LoadedStorage(t, load), readDashboard(t).Panels
	shown := func(title string) promql.Vector {
		i := slices.IndexFunc(panels, func(p panel) bool { return p.Title == title })
		require.GreaterOrEqual(t, i, 0, "no panel %q", title)
		return query(t, stored, filled.Replace(panels[i].Targets[0].Expr), time.Unix(1200, 0))
	}
	for _, title := range []string{"Share of runs that failed", "Capacity", "Capacity for values"} {
		vector := shown(title)
		require.Len(t, vector, 1, title)
		require.InDelta(t, 0.5, vector[0].F, 1e-9, title)
	}
	results := map[string]int{}
	for _, sample := range shown("Groups with most attempts") {
		results[sample.Metric.Get("group")]++
	}
	require.Len(t, results, 10)
	for group, n := range results {
		require.Greater(t, group, "01")
		require.Equal(t, 3, n, group)
	}
}
