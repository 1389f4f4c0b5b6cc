package operations_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// A dashboard has the checked part of Grafana's classic model.
type dashboard struct {
	ID                      *int
	Inputs                  []any `json:"__inputs"`
	UID, Title, Description string
	SchemaVersion           int
	Refresh                 string
	Time                    struct{ From, To string }
	Annotations             struct{ List []any }
	Templating              struct{ List []variable }
	Panels                  []panel
}

type variable struct {
	Name, Type, Label, Definition, AllValue string
	IncludeAll                              bool
	Datasource                              source
	Query                                   any
}

type source struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Collapsed                bool
	Panels                   []any
	GridPos                  struct{ X, Y, W, H int }
	Datasource               source
	Options                  map[string]any
	Targets                  []target
	FieldConfig              struct {
		Overrides []any
		Defaults  struct {
			Unit       string
			Thresholds struct {
				Mode  string
				Steps []step
			}
		}
	}
}

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                source
}

type step struct {
	Color string
	Value *float64
}

// filled replaces the variables in an expression.
var filled = strings.NewReplacer("$job", ".*", "$queue", ".*", "$__rate_interval", "5m")

func readDashboard(t *testing.T) (d dashboard) {
	require.NoError(t, json.Unmarshal([]byte(readDocument(t, "grafana", "shardq.json")), &d))
	require.NotEmpty(t, d.Panels)
	return d
}

var mention = regexp.MustCompile(`\$\{?(\w+)\}?`)

// TestVariablesAreDefined checks that all variables that are used are defined,
// and no others.
func TestVariablesAreDefined(t *testing.T) {
	d := readDashboard(t)
	defined := map[string]bool{}
	used := map[string]bool{}
	use := func(text string) {
		for _, match := range mention.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(match[1], "__") {
				used[match[1]] = true
			}
		}
	}
	for _, v := range d.Templating.List {
		defined[v.Name] = true
		use(v.Definition)
		if v.Type == "query" {
			selector := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(v.Definition)
			require.NotNil(t, selector, v.Definition)
			parse(t, selector[1])
		}
	}
	for _, p := range d.Panels {
		use(p.Datasource.UID)
		for _, target := range p.Targets {
			use(target.Expr)
		}
	}
	require.Equal(t, defined, used)
	require.Contains(t, defined, "datasource")
	require.Contains(t, defined, "queue")
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
	requireNames(t, names)
}

// TestShareOfFailedRuns checks that the panel counts only shardq's queues,
// although others export adds as well.
func TestShareOfFailedRuns(t *testing.T) {
	stored := promqltest.LoadedStorage(t, `load 1m
  shardq_shards{name="q", job="program", instance="one"} 32x20
  shardq_backoffs_total{name="q", job="program", instance="one"} 0+30x20
  workqueue_adds_total{name="q", job="program", instance="one"} 0+60x20
  workqueue_adds_total{name="another", job="program", instance="one"} 0+600x20
  workqueue_adds_total{name="q", job="another", instance="two"} 0+600x20
`)
	requireShown(t, stored, "Share of runs that failed", 0.5)
}

// TestShareOfCapacity checks that the panel counts only the instances with a
// capacity, although another has the same queue without one.
func TestShareOfCapacity(t *testing.T) {
	stored := promqltest.LoadedStorage(t, `load 1m
  shardq_held_items{name="q", job="program", instance="bounded"} 50x20
  shardq_capacity_items{name="q", job="program", instance="bounded"} 100x20
  shardq_held_items{name="q", job="program", instance="boundless"} 900x20
  shardq_pending_weight{name="q", job="program", instance="bounded"} 50x20
  shardq_pending_capacity{name="q", job="program", instance="bounded"} 100x20
  shardq_pending_weight{name="q", job="program", instance="boundless"} 900x20
`)
	for _, title := range []string{"Capacity", "Capacity for values"} {
		requireShown(t, stored, title, 0.5)
	}
}

// TestGroupsWithMostAttempts checks that the panel has all results of ten
// groups, also of those whose attempts have several results.
func TestGroupsWithMostAttempts(t *testing.T) {
	text := "load 1m\n"
	for group := range 12 {
		for i, result := range []string{"success", "error", "panic"} {
			text += fmt.Sprintf(`  shardq_group_attempts_total{name="q", job="program", instance="one", group="%02d", result=%q} 0+%dx20`+"\n",
				group, result, (group+1)*(i+1))
		}
	}
	results := map[string]int{}
	for _, sample := range shown(t, promqltest.LoadedStorage(t, text), "Groups with most attempts") {
		results[sample.Metric.Get("group")]++
	}
	require.Len(t, results, 10)
	for group, n := range results {
		require.Greater(t, group, "01")
		require.Equal(t, 3, n, group)
	}
}

// requireShown compares the value of a panel's first expression after twenty
// minutes, which must be one number.
func requireShown(t *testing.T, stored storage.Queryable, title string, want float64) {
	t.Helper()
	vector := shown(t, stored, title)
	require.Len(t, vector, 1, title)
	require.InDelta(t, want, vector[0].F, 1e-9, title)
}

// shown returns the values of a panel's first expression after twenty minutes.
func shown(t *testing.T, stored storage.Queryable, title string) promql.Vector {
	t.Helper()
	panels := readDashboard(t).Panels
	i := slices.IndexFunc(panels, func(p panel) bool { return p.Title == title })
	require.GreaterOrEqual(t, i, 0, "no panel %q", title)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query, err := engine.NewInstantQuery(t.Context(), stored, nil, filled.Replace(panels[i].Targets[0].Expr), time.Unix(1200, 0))
	require.NoError(t, err)
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	require.NoError(t, err)
	return slices.Clone(vector)
}
