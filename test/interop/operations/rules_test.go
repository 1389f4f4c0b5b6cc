package operations_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

func readRules(t *testing.T) map[string]rulefmt.Rule {
	all := readFile(t, "shardq.rules.yaml")
	maps.Copy(all, readFile(t, "kubernetes.rules.yaml"))
	return all
}

func readFile(t *testing.T, name string) map[string]rulefmt.Rule {
	groups, faults := rulefmt.Parse([]byte(readDocument(t, "alerts", name)), false,
		model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, faults)
	rules := map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			require.NotContains(t, rules, rule.Alert)
			rules[rule.Alert] = rule
		}
	}
	require.NotEmpty(t, rules)
	return rules
}

// TestRulesAreComplete checks that each alert has all that an operator needs,
// and names only series that exist.
func TestRulesAreComplete(t *testing.T) {
	page := readDocument(t, "reference", "operations.md")
	for name, rule := range readRules(t) {
		parse(t, rule.Expr)
		require.NotZero(t, rule.For, name)
		require.Contains(t, []string{"info", "warning", "critical"}, rule.Labels["severity"], name)
		require.Contains(t, rule.Annotations["summary"], "{{ $labels.name }}", name)
		require.NotEmpty(t, rule.Annotations["description"], name)
		requireSection(t, page, name, rule.Annotations["runbook_url"])
	}
}

// requireSection checks that the runbook's address leads to a section that is
// about the alert.
func requireSection(t *testing.T, page, alert, address string) {
	anchor, ok := strings.CutPrefix(address, "https://github.com/shardq/shardq/blob/main/docs/reference/operations.md#")
	require.True(t, ok, address)
	for section := range strings.SplitSeq(page, "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		if strings.ReplaceAll(strings.ToLower(strings.TrimRight(title, "?")), " ", "-") == anchor {
			require.Contains(t, text, "`"+alert+"`", "the section %q", title)
			return
		}
	}
	require.Fail(t, "no such section", address)
}

func TestAlertsOfThePageExist(t *testing.T) {
	rules := readRules(t)
	named := regexp.MustCompile("`(Shardq\\w+)`").FindAllStringSubmatch(readDocument(t, "reference", "operations.md"), -1)
	require.GreaterOrEqual(t, len(named), len(rules))
	for _, match := range named {
		require.Contains(t, rules, match[1])
	}
}

// A story has the values of a queue, minute by minute, in the notation of
// promtool, and the alerts that fire two hours later.
type story struct {
	name   string
	series []string
	fires  []string
}

var stories = []story{
	{"nothing happens", []string{
		"workqueue_depth 0x120", "shardq_ready_items 0x120", "shardq_processing_items 0x120",
		"shardq_parked_consumers 4x120", "shardq_oldest_ready_seconds 0x120", "shardq_oldest_processing_seconds 0x120",
		"shardq_backoffs_total 0x120", "workqueue_adds_total 0x120", "shardq_discarded_items_total 0x120",
		"shardq_held_items 0x120", "shardq_shutting_down 0x120", "shardq_misused_dones_total 7x120",
		"shardq_rejected_adds_total 7x120", "shardq_failed_readings_total 7x120",
	}, nil},
	{"more comes than goes", []string{"workqueue_depth 1000+50x120", "shardq_shutting_down 0x120"},
		[]string{"ShardqDepthNotDraining"}},
	{"nothing goes at all", []string{"workqueue_depth 500x120", "shardq_shutting_down 0x120"},
		[]string{"ShardqDepthNotDraining"}},
	{"more comes than goes, with noise", []string{noisy(1000, 50, 300), "shardq_shutting_down 0x120"},
		[]string{"ShardqDepthNotDraining"}},
	{"as much comes as goes, with noise", []string{noisy(5000, 0, 300), "shardq_shutting_down 0x120"},
		[]string{"ShardqDepthNotDraining"}},
	{"a crowd is worked off, with noise", []string{noisy(20000, -150, 300), "shardq_shutting_down 0x120"}, nil},
	{"a crowd is worked off, and will be for a day", []string{"workqueue_depth 100000-50x120", "shardq_shutting_down 0x120"},
		[]string{"ShardqDepthNotDraining"}},
	{"it is empty now and then", []string{"workqueue_depth 5000x105 0 5000x14", "shardq_shutting_down 0x120"}, nil},
	{"it drains, and nothing goes", []string{"workqueue_depth 5000x120", "shardq_shutting_down 1x120"},
		[]string{"ShardqDrainStuck"}},
	{"a crowd is worked off", []string{"workqueue_depth 13000-100x120", "shardq_shutting_down 0x120"}, nil},
	{"a few are always there", []string{"workqueue_depth 50x120", "shardq_shutting_down 0x120"}, nil},
	{"it is late", []string{"shardq_oldest_ready_seconds 0+60x120"}, []string{"ShardqReadyTooLong"}},
	{"it was late, and is not any more", []string{"shardq_oldest_ready_seconds 0+60x110 0x10"}, nil},
	{"an item is stuck", []string{"shardq_oldest_processing_seconds 0+60x120"}, []string{"ShardqLongestRunningHigh"}},
	{"items take nine minutes", []string{"shardq_oldest_processing_seconds 540x120"}, nil},
	{"most fails", []string{"shardq_backoffs_total 0+60x120", "workqueue_adds_total 0+80x120"}, []string{"ShardqRetryRatioHigh"}},
	{"some fails", []string{"shardq_backoffs_total 0+60x120", "workqueue_adds_total 0+200x120"}, nil},
	{"all of very little fails", []string{"shardq_backoffs_total 0+1x120", "workqueue_adds_total 0+1x120"}, nil},
	{"a few fail for ever", []string{"shardq_limiter_items 5x120", "shardq_backoffs_total 0+1x120", "workqueue_adds_total 0+200x120"},
		[]string{"ShardqFailingForLong"}},
	{"a few fail, and then succeed", []string{"shardq_limiter_items 5x90 0 5x29"}, nil},
	{"all items are discarded", []string{"shardq_discarded_items_total 0x115 1+1x5"}, []string{"ShardqDiscarded"}},
	{"an item was discarded an hour ago", []string{"shardq_discarded_items_total 0x60 1x60"}, nil},
	{"a handler panics", []string{`shardq_attempts_total{result="panic"} 0x100 1+1x20`}, []string{"ShardqPanics"}},
	{"no attempt succeeds", []string{"shardq_outage_failures 0x110 5+60x10", "shardq_held_items 3x120"}, []string{"ShardqOutage"}},
	{"all items of an outage were discarded", []string{"shardq_outage_failures 0x110 5x10", "shardq_held_items 3x112 0x8"}, nil},
	{"an outage of a minute is over", []string{"shardq_outage_failures 0x110 5 65 0x8", "shardq_held_items 3x120"}, nil},
	{"a handler succeeds and fails", []string{
		`shardq_attempts_total{result="success"} 0+10x120`, `shardq_attempts_total{result="error"} 0+10x120`,
		`shardq_attempts_total{result="panic"} 3x120`,
	}, nil},
	{"nobody works", []string{"shardq_ready_items 3x120", "shardq_processing_items 0x120", "shardq_parked_consumers 0x120"},
		[]string{"ShardqNoConsumer"}},
	{"somebody came just now", []string{"shardq_ready_items 3x120", "shardq_processing_items 0x118 1x2", "shardq_parked_consumers 0x120"}, nil},
	{"all are busy, and it is late", []string{
		"shardq_ready_items 9x120", "shardq_processing_items 4x120", "shardq_parked_consumers 0x120", "shardq_oldest_ready_seconds 90x120",
	}, []string{"ShardqConsumersSaturated"}},
	{"all are busy, and it keeps up", []string{
		"shardq_ready_items 9x120", "shardq_processing_items 4x120", "shardq_parked_consumers 0x120", "shardq_oldest_ready_seconds 0.2x120",
	}, nil},
	{"one is idle now and then", []string{
		"shardq_ready_items 9x120", "shardq_processing_items 4x120", "shardq_parked_consumers 0x110 1 0x9", "shardq_oldest_ready_seconds 90x120",
	}, nil},
	{"groups are at their limit while consumers are idle", throttled("1x120", "0x120", "0x120", "2x120"), []string{"ShardqThrottled"}},
	{"groups are at their limit, and all consumers are busy", throttled("1x120", "0x120", "0x120", "0x120"), nil},
	{"a group is paused", throttled("1x120", "0x120", "1x120", "2x120"), nil},
	{"a group waits for its rate", throttled("1x120", "1x120", "0x120", "2x120"), nil},
	{"one group is paused, one waits, and one is at its limit", throttled("3x120", "1x120", "1x120", "2x120"), []string{"ShardqThrottled"}},
	{"a group is at its limit now and then, and one is paused", throttled("2x110 1 2x9", "0x120", "1x120", "2x120"), nil},
	{"it is full", []string{"shardq_held_items 95x120", "shardq_capacity_items 100x120"}, []string{"ShardqNearCapacity"}},
	{"it is half full", []string{"shardq_held_items 50x120", "shardq_capacity_items 100x120"}, nil},
	{"it has no capacity", []string{"shardq_held_items 1000000x120"}, nil},
	{"a coalescer is full", []string{"shardq_pending_weight 99x120", "shardq_pending_capacity 100x120"}, []string{"ShardqPendingNearCapacity"}},
	{"a coalescer is full, and now and then a batch makes room", []string{
		"shardq_pending_weight" + strings.Repeat(" 100 100 100 100 60", 24) + " 100", "shardq_pending_capacity 100x120",
	}, []string{"ShardqPendingNearCapacity"}},
	{"a coalescer was full for a while", []string{"shardq_pending_weight 20x100 100x10 20x10", "shardq_pending_capacity 100x120"}, nil},
	{"a coalescer is full since ten minutes", []string{"shardq_pending_weight 20x110 100x10", "shardq_pending_capacity 100x120"}, nil},
	{"a coalescer has been full for half an hour", []string{"shardq_pending_weight 20x90 100x30", "shardq_pending_capacity 100x120"},
		[]string{"ShardqPendingNearCapacity"}},
	{"a coalescer was beyond its capacity for a minute", []string{"shardq_pending_weight 20x109 5000 20x9", "shardq_pending_capacity 100x120"}, nil},
	{"a coalescer is beyond its capacity for a minute now and then", []string{
		"shardq_pending_weight" + strings.Repeat(" 20 20 20 20 5000", 24) + " 20", "shardq_pending_capacity 100x120",
	}, nil},
	{"a coalescer is new and full", []string{"shardq_pending_weight _x113 100x7", "shardq_pending_capacity _x113 100x7"}, nil},
	{"a coalescer is new and has been full for twenty minutes", []string{
		"shardq_pending_weight _x100 100x20", "shardq_pending_capacity _x100 100x20",
	}, []string{"ShardqPendingNearCapacity"}},
	{"a coalescer is half full", []string{"shardq_pending_weight 50x120", "shardq_pending_capacity 100x120"}, nil},
	{"a coalescer has no capacity", []string{"shardq_pending_weight 1000000x120"}, nil},
	{"it does not end", []string{"shardq_shutting_down 0x100 1x20"}, []string{"ShardqDrainStuck"}},
	{"it drains", []string{"shardq_shutting_down 0x115 1x5"}, nil},
	{"it has drained, and is gone", []string{"shardq_shutting_down 0x90 1x20 stale"}, nil},
	{"Dones are called twice", []string{"shardq_misused_dones_total 0x100 1+1x20"}, []string{"ShardqMisuse"}},
	{"NaN is added", []string{"shardq_rejected_adds_total 0x100 1+1x20"}, []string{"ShardqMisuse"}},
	{"it cannot be read", []string{"shardq_failed_readings_total 0+1x120"}, []string{"ShardqFailedReadings"}},
}

var storiesOfControllers = []story{
	{"nothing happens", []string{
		"workqueue_depth 0x120", "workqueue_adds_total 0x120", "workqueue_retries_total 0x120",
		"workqueue_work_duration_seconds_count 0x120", "workqueue_unfinished_work_seconds 0x120",
		"workqueue_longest_running_processor_seconds 0x120", `workqueue_queue_duration_seconds_bucket{le="+Inf"} 0x120`,
	}, nil},
	{"more comes than goes", []string{
		`workqueue_depth{priority="0"} 1000+50x120`, "workqueue_work_duration_seconds_count 0+60x120", "workqueue_unfinished_work_seconds 1x120",
	}, []string{"ShardqControllerDepthNotDraining"}},
	{"an initial list is worked off", []string{
		`workqueue_depth{priority="-100"} 13000-100x120`, "workqueue_work_duration_seconds_count 0+100x120", "workqueue_unfinished_work_seconds 1x120",
	}, nil},
	{"it is late", []string{
		`workqueue_queue_duration_seconds_bucket{le="100"} 0x120`, `workqueue_queue_duration_seconds_bucket{le="1000"} 0+60x120`,
		`workqueue_queue_duration_seconds_bucket{le="+Inf"} 0+60x120`,
	}, []string{"ShardqControllerLate"}},
	{"it keeps up", []string{
		`workqueue_queue_duration_seconds_bucket{le="1"} 0+60x120`, `workqueue_queue_duration_seconds_bucket{le="+Inf"} 0+60x120`,
	}, nil},
	{"a reconcile is stuck", []string{"workqueue_longest_running_processor_seconds 0+60x120"}, []string{"ShardqControllerStuck"}},
	{"most comes back", []string{"workqueue_retries_total 0+60x120", "workqueue_adds_total 0+80x120"}, []string{"ShardqControllerRetries"}},
	{"some comes back", []string{"workqueue_retries_total 0+60x120", "workqueue_adds_total 0+200x120"}, nil},
	{"nobody takes", []string{
		"workqueue_depth 3x120", "workqueue_work_duration_seconds_count 7x120", "workqueue_unfinished_work_seconds 0x120",
	}, []string{"ShardqControllerIdle"}},
	{"one reconcile takes long", []string{
		"workqueue_depth 3x120", "workqueue_work_duration_seconds_count 7x120", "workqueue_unfinished_work_seconds 0+60x120",
	}, nil},
}

// throttled returns the throttled groups, those by a rate and by a pause, and
// the parked consumers.
func throttled(groups, byRate, byPause, parked string) []string {
	return []string{
		"shardq_throttled_groups " + groups, "shardq_rate_throttled_groups " + byRate,
		"shardq_pause_throttled_groups " + byPause, "shardq_parked_consumers " + parked,
	}
}

// noisy returns a depth that changes by the same amount each minute. A
// variation of up to spread is added, which is the same in each run.
func noisy(start, change, spread int) string {
	source := rand.New(rand.NewPCG(1, 2))
	text := strings.Builder{}
	text.WriteString("workqueue_depth")
	for minute := range 121 {
		fmt.Fprintf(&text, " %d", start+change*minute+source.IntN(2*spread+1)-spread)
	}
	return text.String()
}

// TestAlertsFire checks that each story fires its alerts and no others, and
// that each alert has a story.
func TestAlertsFire(t *testing.T) {
	t.Run("shardq", func(t *testing.T) { requireFires(t, readFile(t, "shardq.rules.yaml"), stories) })
	t.Run("kubernetes", func(t *testing.T) { requireFires(t, readFile(t, "kubernetes.rules.yaml"), storiesOfControllers) })
	t.Run("cluster", func(t *testing.T) { requireFires(t, readFile(t, "cluster.rules.yaml"), storiesOfClusters) })
}

var storiesOfClusters = []story{
	{"all is well", []string{
		`shardq_cluster_up 1x120`, `shardq_cluster_failing_partitions 0x120`, `shardq_cluster_unowned_partitions 0x120`,
		`shardq_cluster_server_clock_skew_seconds 0.01x120`,
	}, nil},
	{"the servers are away", []string{`shardq_cluster_up 0x120`}, []string{"ShardqClusterDown"}},
	{"a partition fails", []string{
		`shardq_cluster_failing_partitions{node="a"} 0x120`, `shardq_cluster_failing_partitions{node="b"} 1x120`,
		`shardq_cluster_unowned_partitions 1x120`,
	}, []string{"ShardqClusterPartitionFails", "ShardqClusterUnread"}},
	{"a server's clock is ahead", []string{`shardq_cluster_server_clock_skew_seconds 60x120`}, []string{"ShardqClusterClocksDiffer"}},
}

func requireFires(t *testing.T, rules map[string]rulefmt.Rule, stories []story) {
	fired := map[string]bool{}
	for _, s := range stories {
		text := "load 1m\n"
		for _, series := range s.series {
			name, values, _ := strings.Cut(series, " ")
			name, own, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
			text += "  " + name + `{name="q", job="program", instance="one",` + own + "} " + values + "\n"
		}
		stored := promqltest.LoadedStorage(t, text)
		for name, rule := range rules {
			require.Equal(t, slices.Contains(s.fires, name), fires(t, stored, rule), "%s: %s", s.name, name)
		}
		for _, name := range s.fires {
			fired[name] = true
		}
	}
	require.Len(t, fired, len(rules), "a story for each alert")
}

// fires reports whether a rule fires at the end: its expression has held for
// the duration of the rule.
func fires(t *testing.T, stored storage.Queryable, rule rulefmt.Rule) bool {
	end := time.Unix(0, 0).Add(2 * time.Hour)
	for at := end.Add(-time.Duration(rule.For)); !at.After(end); at = at.Add(time.Minute) {
		if len(query(t, stored, rule.Expr, at)) == 0 {
			return false
		}
	}
	return true
}

// query returns the result of an expression at a time.
func query(t *testing.T, stored storage.Queryable, expression string, at time.Time) promql.Vector {
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query, err := engine.NewInstantQuery(t.Context(), stored, nil, expression, at)
	require.NoError(t, err)
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	require.NoError(t, err)
	return slices.Clone(vector)
}
