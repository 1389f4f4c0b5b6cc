// Package kubernetes_test compares the series of a queue with those of a binary
// of Kubernetes.
package kubernetes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // sets the provider for client-go

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/test/interop/internal/pair"
)

func TestSameAsKubernetes(t *testing.T) {
	pair.Compare(t, legacyregistry.DefaultGatherer, shardqprom.Kubernetes)
}

// TestBesideKubernetes exports a queue in the registry that has the seven names
// already.
func TestBesideKubernetes(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "beside", Metrics: true})
	c, err := shardqprom.NewCollector(shardqprom.Options{Unchecked: true}, q)
	require.NoError(t, err)
	legacyregistry.RawMustRegister(c)
	require.Len(t, pair.Series(t, legacyregistry.DefaultGatherer, "beside"), 7)
}
