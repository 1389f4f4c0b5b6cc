// Package shardqprom exports queues of shardq to Prometheus. Its [Collector]
// fits any registry of client_golang.
//
//	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
//	collector, err := shardqprom.NewCollector(shardqprom.Options{}, queue)
//	if err != nil {
//		log.Fatal(err) // a queue without metrics, or two of one name
//	}
//	prometheus.MustRegister(collector)
//
// # Series
//
// The Collector exports the seven series of client-go's workqueue,
// workqueue_depth and so on. They have the names, labels, help texts and
// meanings of Kubernetes or, with [Options].Style, of controller-runtime.
// Existing dashboards and alerts work with them. Kubernetes and
// controller-runtime have different histogram buckets. The Collector uses those
// of controller-runtime, 10 ns to 1000 s, and adds native histograms.
//
// The names of all other series begin with shardq_. They count delayed items,
// deduplicated adds, true retries, discarded items, ages, capacity, consumers
// and shards, and groups if [Options].Groups is set. For a
// [coalesce.Coalescer], add its Coalescer.Queue: its series include the pending
// values. docs/reference/metrics.md in the repository describes each series.
// docs/reference/operations.md says what to do about it. There are a dashboard
// in docs/grafana and alert rules in docs/alerts.
//
// # Names
//
// A queue is exported under its name. Two queues of a Collector cannot have the
// same name or none. [Collector.Add] returns an error then, so that a scrape
// never fails. [Collector.AddAs] adds a queue under another name. A queue that
// is shut down and empty disappears by itself, and its name is free.
//
// # With controller-runtime
//
// controller-runtime registers the seven names in its own registry for its own
// queues. To add queues of shardq to the same registry, set Unchecked and the
// style:
//
//	options := shardqprom.Options{Style: shardqprom.ControllerRuntime, Unchecked: true}
//	collector, err := shardqprom.NewCollector(options)
//	…
//	metrics.Registry.MustRegister(collector)
//
// # Accuracy
//
// Counters and gauges come from one reading of [shardq.Stats]. Durations are as
// exact as [shardq.Options].Metrics describes. The buckets of the histograms
// are exact, with two exceptions:
//
//   - A duration of exactly 10 µs or 100 µs counts as within these bounds. In
//     Kubernetes it is just above, because the bounds there are
//     9.999999999999999e-06 and 9.999999999999999e-05.
//   - In the native histograms, a duration of zero may count as a nanosecond.
//     All durations beyond 2²⁰ s, twelve days, are in the bucket that begins
//     there.
//
// The creation times of counters are not exported.
//
// # Cost
//
// Between scrapes, the only cost is that of [shardq.Options].Metrics. A scrape
// reads each queue once, and locks its shards one after the other.
// docs/reference/metrics.md has the figures.
package shardqprom
