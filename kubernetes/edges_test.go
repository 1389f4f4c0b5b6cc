package kubernetes_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	theirs "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq/kubernetes"
	"github.com/shardq/shardq/kubernetes/workqueue"
)

// TestDrainWithoutWorkers: a program whose cache does not sync ends without workers.
func TestDrainWithoutWorkers(t *testing.T) {
	limiter := theirs.DefaultTypedControllerRateLimiter[int]()
	for _, q := range []theirs.TypedRateLimitingInterface[int]{
		theirs.NewTypedRateLimitingQueue(limiter), workqueue.NewTypedRateLimitingQueue(limiter),
		kubernetes.NewQueue(kubernetes.Options[int]{NoPriorities: true})("", limiter),
	} {
		q.Add(1)
		q.Add(2)
		q.ShutDownWithDrain()
		item, shutdown := q.Get()
		require.Equal(t, 1, item)
		require.False(t, shutdown)
	}
}

func TestShorterOfTwoDelaysCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := kubernetes.New(kubernetes.Options[string]{})
		require.NoError(t, err)
		defer q.ShutDown()
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, RateLimited: true}, "a")
		time.Sleep(time.Second)
		require.Equal(t, 1, q.Len())
		require.EqualValues(t, 0, q.NumRequeues("b"))
	})
}
