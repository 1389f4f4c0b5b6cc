package shardqprom_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// TestUnchecked checks that the collector registers beside the same names, as
// long as the help texts and labels are equal.
func TestUnchecked(t *testing.T) {
	theirs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workqueue_adds_total", Help: "[BETA] Total number of adds handled by workqueue",
	}, []string{"name"})
	theirs.WithLabelValues("theirs").Inc()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(theirs)
	q, _ := seriestest.NewQueue("ours")
	q.Add("a")

	require.ErrorContains(t, registry.Register(newCollector(t, shardqprom.Options{}, q)), "already exists")
	require.NoError(t, registry.Register(newCollector(t, shardqprom.Options{Unchecked: true}, q)))
	families := gatherFrom(t, registry)
	require.Equal(t, 1.0, value(t, families, "workqueue_adds_total", "name=theirs"))
	require.Equal(t, 1.0, value(t, families, "workqueue_adds_total", "name=ours"))
}
