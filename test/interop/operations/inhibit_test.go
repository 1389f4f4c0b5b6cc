package operations_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

type inhibition struct {
	Sources []string `json:"source_matchers"`
	Targets []string `json:"target_matchers"`
	Equal   []string `json:"equal"`
}

var matcher = regexp.MustCompile(`^alertname=~?"([\w|]+)"$`)

// alertsOf returns the names in the only matcher of a list.
func alertsOf(t *testing.T, matchers []string) []string {
	require.Len(t, matchers, 1)
	found := matcher.FindStringSubmatch(matchers[0])
	require.NotNil(t, found, matchers[0])
	return strings.Split(found[1], "|")
}

// TestOneAlertForAFullQueue fires four alerts, of which the inhibitions leave
// the one on the cause. An alert that is silenced itself still silences others,
// as in Alertmanager.
func TestOneAlertForAFullQueue(t *testing.T) {
	var file struct {
		Rules []inhibition `json:"inhibit_rules"`
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(readDocument(t, "alerts", "inhibit.yaml")), &file))
	rules := readRules(t)
	maps.Copy(rules, readFile(t, "cluster.rules.yaml"))
	silences := map[string][]string{}
	for _, rule := range file.Rules {
		require.True(t, slices.Contains(rule.Equal, "name") || slices.Contains(rule.Equal, "queue"), "of the same queue")
		for _, source := range alertsOf(t, rule.Sources) {
			require.Contains(t, rules, source)
			silences[source] = append(silences[source], alertsOf(t, rule.Targets)...)
		}
	}
	for source, targets := range silences {
		for _, target := range targets {
			require.Contains(t, rules, target)
			require.NotContains(t, silences[target], source, "two alerts would silence each other")
		}
	}
	left := func(series ...string) (all, left []string) {
		text := "load 1m\n"
		for _, one := range series {
			name, values, _ := strings.Cut(one, " ")
			text += "  " + name + `{name="q", job="program", instance="one"} ` + values + "\n"
		}
		stored := promqltest.LoadedStorage(t, text)
		for name, rule := range readFile(t, "shardq.rules.yaml") {
			if fires(t, stored, rule) {
				all = append(all, name)
			}
		}
		left = slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			return slices.ContainsFunc(all, func(other string) bool { return slices.Contains(silences[other], name) })
		})
		return all, left
	}
	full := []string{
		"shardq_held_items 980x120", "shardq_capacity_items 1000x120", "workqueue_depth 950x120", "shardq_shutting_down 0x120",
		"shardq_ready_items 950x120", "shardq_parked_consumers 0x120", "shardq_oldest_ready_seconds 400x120",
	}
	all, kept := left(append(full, "shardq_processing_items 30x120")...)
	require.ElementsMatch(t, []string{"ShardqNearCapacity", "ShardqDepthNotDraining", "ShardqReadyTooLong", "ShardqConsumersSaturated"}, all)
	require.Equal(t, []string{"ShardqNearCapacity"}, kept)
	_, kept = left(append(full, "shardq_processing_items 0x120")...)
	require.Equal(t, []string{"ShardqNoConsumer"}, kept, "why it is full")
	_, kept = left(full[2:]...)
	require.ElementsMatch(t, []string{"ShardqReadyTooLong", "ShardqDepthNotDraining"}, kept, "it is not full")
}
