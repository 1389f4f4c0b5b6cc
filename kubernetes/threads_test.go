package kubernetes_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

const low = -100 // of the initial list

func addWith(q priorityqueue.PriorityQueue[string], priority int, items ...string) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, items...)
}

func open(t *testing.T, options shardq.Options[string]) *kubernetes.Queue[string] {
	q, err := kubernetes.New(kubernetes.Options[string]{Queue: options})
	require.NoError(t, err)
	t.Cleanup(q.ShutDown)
	return q
}

// controller-runtime#3496, external-secrets#6053: while changes keep coming, the
// initial list is reconciled with LowPriorityInterval alone.
func TestInitialListBesideSteadyChanges(t *testing.T) {
	for interval, want := range map[int]int{0: 0, 10: 100} {
		q := open(t, shardq.Options[string]{LowPriorityInterval: interval})
		for i := range 100 {
			addWith(q, low, "listed "+strconv.Itoa(i))
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
