package kubernetes_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

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

// controller-runtime#3330: an item whose delay ends goes before ready ones of lower
// priority.
func TestPriorityAfterADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, shardq.Options[string]{})
		addWith(q, low, "a", "b")
		q.AddAfter("changed", time.Second)
		time.Sleep(2 * time.Second) // of the bubble
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, "changed", item)
		require.Zero(t, priority)
	})
}

// controller-runtime#3408: an item that is raised gets in line behind those of its new
// priority.
func TestRaisedItemIsLastOfItsPriority(t *testing.T) {
	q := open(t, shardq.Options[string]{})
	addWith(q, 0, "raised")
	addWith(q, 1, "other")
	addWith(q, 1, "raised")
	for _, want := range []string{"other", "raised"} {
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, want, item)
		require.Equal(t, 1, priority)
	}
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
