//go:build unix

package kubernetes_test

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/kubernetes"
)

type queueOfStrings = workqueue.TypedRateLimitingInterface[string]

var limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Microsecond, time.Microsecond)

// engines make a queue by its name, without metrics if that is empty.
var engines = []struct {
	name string
	open func(name string) queueOfStrings
}{
	{"shardq", func(name string) queueOfStrings { return shardqOf(name, 1) }},
	{"shardq,32", func(name string) queueOfStrings { return shardqOf(name, 32) }},
	{"shardq,no_metrics", func(string) queueOfStrings { return shardqOf("", 1) }},
	{"controller-runtime", func(name string) queueOfStrings {
		return outlived{priorityqueue.New(name, func(o *priorityqueue.Opts[string]) { o.RateLimiter = limiter })}
	}},
	{"client-go", func(name string) queueOfStrings {
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{Name: name})
	}},
}

func shardqOf(name string, shards int) queueOfStrings {
	options := kubernetes.Options[string]{Queue: shardq.Options[string]{Shards: shards}}
	return kubernetes.NewQueue(options)(name, limiter)
}

// An outlived queue ends after its consumers, each of which takes one more item. If they
// wait, controller-runtime's ShutDown before 0.25 hangs now and then
// (controller-runtime#3538).
type outlived struct{ queueOfStrings }

func (q outlived) ShutDown() {
	for consumer := range 8 {
		q.Add("last " + strconv.Itoa(consumer))
	}
}

// processorTime returns the time of all processors that the process has taken.
func processorTime() (ns int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkQueues measures the processor time of an item, with the metrics that each
// queue has in a manager.
func BenchmarkQueues(b *testing.B) {
	keys := workload.Strings(1000)
	for _, work := range []struct {
		name string
		run  func(q queueOfStrings, n int)
	}{
		{"one_goroutine", func(q queueOfStrings, n int) {
			defer q.ShutDown()
			workload.Cycle(q, workload.Uniform(keys), n)
		}},
		{"8x8", func(q queueOfStrings, n int) {
			workload.Closed(q, workload.Strings(1<<14), workload.Load{Producers: 8, Consumers: 8, Items: n})
		}},
		{"retry", func(q queueOfStrings, n int) {
			defer q.ShutDown()
			for ; n > 0; n -= len(keys) {
				for _, key := range keys {
					q.AddRateLimited(key)
				}
				for range keys {
					item, _ := q.Get()
					q.Forget(item)
					q.Done(item)
				}
			}
		}},
	} {
		for _, e := range engines {
			b.Run("work="+work.name+"/queue="+e.name, func(b *testing.B) {
				q := e.open(b.Name() + strconv.Itoa(b.N))
				before := processorTime()
				work.run(q, b.N)
				b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op")
				if q, ok := q.(outlived); ok {
					q.queueOfStrings.ShutDown()
				}
			})
		}
	}
}
