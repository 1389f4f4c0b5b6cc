package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/metrics"
)

// A source returns a status, or an error.
type source struct{ err error }

func (source) ID() string { return "n1" }

func (source) Stats() cluster.Stats {
	return cluster.Stats{Added: 1, Done: 2, Failed: 3, Discarded: 4, Partitions: 5, Failing: 12, Held: 6, InFlight: 7}
}

func (s source) Status(context.Context) (cluster.Status, error) {
	return cluster.Status{
		Pending: 8, Delayed: 9, Dead: 10, Skew: cluster.Skew{By: 14 * time.Second}, Silent: []string{"a", "b"},
		Members:    []cluster.Member{{Oldest: []cluster.InFlight{{Key: "a", Began: time.Now().Add(-time.Hour)}}}},
		Partitions: []cluster.PartitionStatus{{Owner: "n1", Epoch: 11, PartitionState: cluster.PartitionState{State: cluster.Open}, Pending: 12, Taken: 13}, {Partition: 1}},
	}, s.err
}

func gather(t *testing.T, c *metrics.Collector) map[string]float64 {
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	require.Empty(t, problems)
	families, err := r.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "shardq_cluster_")
			for _, l := range m.Label {
				if l.GetName() == "partition" {
					name += " " + l.GetValue()
				}
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func TestSeriesOfANode(t *testing.T) {
	require.Equal(t, map[string]float64{
		"added_total": 1, "done_total": 2, "failed_total": 3, "discarded_total": 4, "partitions": 5, "failing_partitions": 12, "held": 6, "in_flight": 7,
	}, gather(t, metrics.New(source{}, metrics.Options{Name: "q"})))
}

func TestSeriesOfTheQueue(t *testing.T) {
	got := gather(t, metrics.New(source{}, metrics.Options{Name: "q", Whole: true}))
	require.InDelta(t, 3600, got["longest_in_flight_seconds"], 60)
	for name, want := range map[string]float64{
		"up": 1, "pending": 8, "delayed": 9, "dead_letters": 10, "members": 1, "unowned_partitions": 1, "server_clock_skew_seconds": 14, "silent_streams": 2,
		"partition_epoch 0": 11, "partition_pending 0": 12, "partition_taken 0": 13, "partition_pending 1": 0,
	} {
		require.Equal(t, want, got[name], name)
	}
	got = gather(t, metrics.New(source{errors.New("no servers")}, metrics.Options{Name: "q", Whole: true}))
	require.Zero(t, got["up"])
	require.NotContains(t, got, "pending")
	require.Equal(t, 1.0, got["added_total"])
}
