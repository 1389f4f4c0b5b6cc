package shardqprom_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCollector(t testing.TB, options shardqprom.Options, queues ...shardq.Inspector) *shardqprom.Collector {
	t.Helper()
	c, err := shardqprom.NewCollector(options, queues...)
	require.NoError(t, err)
	return c
}

// gather scrapes a collector with a pedantic registry, and returns the families
// by name.
func gather(t testing.TB, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	return gatherFrom(t, registry)
}

func gatherFrom(t testing.TB, from prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// find returns the metric of a family with these labels, each written as
// name=value.
func find(t testing.TB, family *dto.MetricFamily, labels ...string) *dto.Metric {
	t.Helper()
	for _, m := range family.GetMetric() {
		if hasAll(m, labels) {
			return m
		}
	}
	require.Fail(t, "no such series", "%s %v", family.GetName(), labels)
	return nil
}

func hasAll(m *dto.Metric, labels []string) bool {
	has := map[string]bool{}
	for _, l := range m.GetLabel() {
		has[l.GetName()+"="+l.GetValue()] = true
	}
	for _, l := range labels {
		if !has[l] {
			return false
		}
	}
	return true
}

// value returns the value of a counter or a gauge.
func value(t testing.TB, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	require.Contains(t, families, name)
	m := find(t, families[name], labels...)
	if m.Counter != nil {
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}
