// Package controllerruntime_test compares the series of a queue with those of a
// manager of controller-runtime.
package controllerruntime_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // sets the provider for client-go
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/test/interop/internal/pair"
)

func TestSameAsControllerRuntime(t *testing.T) {
	pair.Compare(t, metrics.Registry, shardqprom.ControllerRuntime)
}

// TestBesideControllerRuntime exports a queue in controller-runtime's own
// registry, beside a queue of client-go.
func TestBesideControllerRuntime(t *testing.T) {
	theirs := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "theirs"})
	defer theirs.ShutDown()
	q := shardq.MustNew(shardq.Options[string]{Name: "beside", Metrics: true})

	checked, err := shardqprom.NewCollector(shardqprom.Options{Style: shardqprom.ControllerRuntime}, q)
	require.NoError(t, err)
	require.ErrorContains(t, metrics.Registry.Register(checked), "already exists")

	c, err := shardqprom.NewCollector(shardqprom.Options{Style: shardqprom.ControllerRuntime, Unchecked: true}, q)
	require.NoError(t, err)
	require.NoError(t, metrics.Registry.Register(c))
	require.Len(t, pair.Series(t, metrics.Registry, "beside"), 7)
	require.Len(t, pair.Series(t, metrics.Registry, "theirs"), 7)
}
