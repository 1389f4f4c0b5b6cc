package kubernetes

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// controller-runtime changes its texts, and a program may have metrics of these names:
// the collectors are found by what is registered, and a queue panics in no case.
func TestCollectorsOfOthers(t *testing.T) {
	labels := []string{"name", "controller"}
	r := prometheus.NewRegistry()
	theirs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: "workqueue", Name: "retries_total", Help: "A text with \"quotes\", \\ and {braces} of tomorrow.",
	}, labels)
	r.MustRegister(theirs)
	newProvider(r).NewRetriesMetric("q").Inc()
	require.InDelta(t, 1, testutil.ToFloat64(theirs.WithLabelValues("q", "q")), 0)

	other := prometheus.NewRegistry()
	other.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "workqueue", Name: "adds_total", Help: "Adds."}, []string{"queue"}))
	newProvider(other).NewAddsMetric("q").Inc()
	n, err := testutil.GatherAndCount(other, "shardq_workqueue_adds_total")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// A foreign collector does something else when it is asked again.
type foreign struct {
	described int
	again     func()
}

func (f *foreign) Describe(descs chan<- *prometheus.Desc) {
	if f.described++; f.described > 1 {
		f.again()
	}
	descs <- prometheus.NewDesc("foreign", "is asked twice", nil, nil)
}

func (*foreign) Collect(chan<- prometheus.Metric) {}

// TestForeignCollectorStopsNoQueue: the queue then counts where nobody sees it.
func TestForeignCollectorStopsNoQueue(t *testing.T) {
	for _, again := range []func(){func() { panic("on purpose") }, func() { select {} }} {
		r := prometheus.NewRegistry()
		r.MustRegister(&foreign{again: again})
		newProvider(r).NewAddsMetric("q").Inc()
	}
}
