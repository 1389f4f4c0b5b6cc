// Package kubernetes_test compares the series of a queue with those of a binary
// of Kubernetes.
package kubernetes_test

import (
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // sets the provider for client-go

	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/test/interop/internal/pair"
)

func TestSameAsKubernetes(t *testing.T) {
	pair.Compare(t, legacyregistry.DefaultGatherer, shardqprom.Kubernetes)
}
