//go:build unix

package kubernetes_test

import (
	"slices"
	"strconv"
	"sync"
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

var microsecond = workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Microsecond, time.Microsecond)

// engines make a queue by its name, without metrics if that is empty.
var engines = []struct {
	name string
	open func(name string) queueOfStrings
}{
	{"shardq", func(name string) queueOfStrings { return shardqOf(name, 1) }},
	{"shardq,8", func(name string) queueOfStrings { return shardqOf(name, 8) }},
	{"shardq,no_metrics", func(string) queueOfStrings { return shardqOf("", 1) }},
	{"controller-runtime", func(name string) queueOfStrings {
		return outlived{priorityqueue.New(name, func(o *priorityqueue.Opts[string]) { o.RateLimiter = microsecond })}
	}},
	{"client-go", func(name string) queueOfStrings {
		return workqueue.NewTypedRateLimitingQueueWithConfig(microsecond, workqueue.TypedRateLimitingQueueConfig[string]{Name: name})
	}},
	{"client-go,no_metrics", func(string) queueOfStrings { return workqueue.NewTypedRateLimitingQueue(microsecond) }},
}

func shardqOf(name string, shards int) queueOfStrings {
	options := kubernetes.Options[string]{Queue: shardq.Options[string]{Shards: shards}}
	return kubernetes.NewQueue(options)(name, microsecond)
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
		{"two_add", func(q queueOfStrings, n int) { // new keys, and nobody takes them
			defer q.ShutDown()
			keys := workload.Strings(n)
			var adders sync.WaitGroup
			for i := range 2 {
				adders.Go(func() {
					for _, key := range keys[i*n/2 : (i+1)*n/2] {
						q.Add(key)
					}
				})
			}
			adders.Wait()
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

// BenchmarkAddBesideWorkers measures how long an informer's adds of new keys take,
// beside 200,000 ready ones and 500 workers that wait for a server.
func BenchmarkAddBesideWorkers(b *testing.B) {
	const ready = 200_000
	for _, e := range engines {
		b.Run("queue="+e.name, func(b *testing.B) {
			q, keys := e.open(b.Name()+strconv.Itoa(b.N)), workload.Strings(ready+b.N)
			for _, key := range keys[:ready] {
				q.Add(key)
			}
			var workers sync.WaitGroup
			for range 500 {
				workers.Go(func() {
					for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
						time.Sleep(5 * time.Millisecond)
						q.Done(item)
					}
				})
			}
			took := timeAdds(q, keys[ready:])
			if queue, is := q.(outlived); is {
				q = queue.queueOfStrings
			}
			q.ShutDown()
			workers.Wait()
			slices.Sort(took)
			for name, share := range map[string]float64{"p50-ns": 0.5, "p99-ns": 0.99, "p99.9-ns": 0.999, "max-ns": 1} {
				b.ReportMetric(float64(took[int(share*float64(b.N-1))]), name)
			}
		})
	}
}

// timeAdds adds a key each 10 µs.
func timeAdds(q queueOfStrings, keys []string) (took []time.Duration) {
	for _, key := range keys {
		began := time.Now()
		q.Add(key)
		took = append(took, time.Since(began))
		for time.Since(began) < 10*time.Microsecond {
		}
	}
	return took
}
