// Package controllerruntime_test compares the series of a queue with those of a
// manager of controller-runtime.
package controllerruntime_test

import (
	"testing"

	_ "sigs.k8s.io/controller-runtime/pkg/controller" // sets the provider for client-go
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/test/interop/internal/pair"
)

func TestSameAsControllerRuntime(t *testing.T) {
	pair.Compare(t, metrics.Registry, shardqprom.ControllerRuntime)
}
