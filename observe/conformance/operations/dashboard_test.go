package operations_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/stretchr/testify/require"
)

type dashboard struct {
	UID, Title, Description string
	SchemaVersion           int
	Templating              struct{ List []variable }
	Panels                  []panel
}

type variable struct {
	Name, Type, Label, Definition string
	Query                         any
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ Type, UID string }
	Targets                  []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Mode  string
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	require.NoError(t, json.Unmarshal([]byte(readDocument(t, "grafana", "shardq.json")), &d))
	require.NotEmpty(t, d.Panels)
	return d
}

func TestDashboardIsComplete(t *testing.T) {
	d := readDashboard(t)
	require.NotEmpty(t, d.UID)
	require.NotEmpty(t, d.Title)
	require.NotEmpty(t, d.Description)
	require.GreaterOrEqual(t, d.SchemaVersion, 41)
	titles := map[string]bool{}
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		require.False(t, titles[p.Type+p.Title], "two panels %q", p.Title)
		titles[p.Type+p.Title] = true
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.Equal(t, "absolute", p.FieldConfig.Defaults.Thresholds.Mode)
		requireRising(t, p)
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		references := map[string]bool{}
		for _, target := range p.Targets {
			require.Equal(t, "${datasource}", target.Datasource.UID, p.Title)
			require.NotEmpty(t, target.LegendFormat, p.Title)
			require.False(t, references[target.RefID], p.Title)
			references[target.RefID] = true
		}
		require.NotEmpty(t, p.Targets, p.Title)
	}
}

// requireRising checks that the first threshold is the base, and each is above the one before.
func requireRising(t *testing.T, p panel) {
	steps := p.FieldConfig.Defaults.Thresholds.Steps
	require.NotEmpty(t, steps, p.Title)
	require.Nil(t, steps[0].Value, p.Title)
	for i := 1; i < len(steps); i++ {
		require.NotNil(t, steps[i].Value, p.Title)
		require.True(t, i == 1 || *steps[i].Value > *steps[i-1].Value, p.Title)
	}
}

// TestPanelsLieBesideEachOther: within the 24 columns, and none on another.
func TestPanelsLieBesideEachOther(t *testing.T) {
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range readDashboard(t).Panels {
		require.False(t, ids[p.ID], "id %d twice", p.ID)
		ids[p.ID] = true
		at := p.GridPos
		require.True(t, at.X >= 0 && at.Y >= 0 && at.W > 0 && at.H > 0 && at.X+at.W <= 24, p.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies on it", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

var mention = regexp.MustCompile(`\$\{?(\w+)\}?`)

// TestVariablesAreDefined: those that are used, and no others.
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
		require.NotEmpty(t, v.Label)
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

// TestDashboardShowsWhatIsExported: each expression is one of PromQL, names only series that there
// are, of the queues that are chosen; and none of the series is forgotten.
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

// TestShareOfFailedRuns: it counts shardq's queues only, though others export adds as well.
func TestShareOfFailedRuns(t *testing.T) {
	stored := promqltest.LoadedStorage(t, `load 1m
  shardq_shards{name="q", job="program", instance="one"} 32x20
  shardq_backoffs_total{name="q", job="program", instance="one"} 0+30x20
  workqueue_adds_total{name="q", job="program", instance="one"} 0+60x20
  workqueue_adds_total{name="another", job="program", instance="one"} 0+600x20
  workqueue_adds_total{name="q", job="another", instance="two"} 0+600x20
`)
	filled := strings.NewReplacer("$job", ".*", "$queue", ".*", "$__rate_interval", "5m")
	for _, p := range readDashboard(t).Panels {
		if p.Title == "Share of runs that failed" {
			engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
			query, err := engine.NewInstantQuery(t.Context(), stored, nil, filled.Replace(p.Targets[0].Expr), time.Unix(1200, 0))
			require.NoError(t, err)
			defer query.Close()
			vector, err := query.Exec(t.Context()).Vector()
			require.NoError(t, err)
			require.Len(t, vector, 1)
			require.InDelta(t, 0.5, vector[0].F, 1e-9)
			return
		}
	}
	require.Fail(t, "no such panel")
}
