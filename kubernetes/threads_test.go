package kubernetes_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

// controller-runtime#3496, external-secrets#6053: while changes keep coming, the
// initial list is reconciled with LowPriorityInterval alone.
func TestInitialListBesideSteadyChanges(t *testing.T) {
	low := -100 // of the initial list
	for interval, want := range map[int]int{0: 0, 10: 100} {
		q, err := kubernetes.New(kubernetes.Options[string]{Queue: shardq.Options[string]{LowPriorityInterval: interval}})
		require.NoError(t, err)
		defer q.ShutDown()
		for i := range 100 {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "listed "+strconv.Itoa(i))
		}
		listed := 0
		for i := range 1000 {
			q.Add("changed " + strconv.Itoa(i))
			item, priority, _ := q.GetWithPriority()
			if priority == low {
				listed++
			}
			q.Forget(item)
			q.Done(item)
		}
		require.Equal(t, want, listed, "LowPriorityInterval %d", interval)
	}
}
