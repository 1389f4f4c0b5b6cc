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
// The Collector exports the seven series of client-go's workqueue,
// workqueue_depth and so on, with the names, labels, help texts and meanings of
// Kubernetes or, with [Options].Style, of controller-runtime. So existing
// dashboards and alerts work with them. Histograms have the buckets of
// controller-runtime, 10 ns to 1000 s, and native ones. The names of all other
// series begin with shardq_. For a [coalesce.Coalescer], add its
// Coalescer.Queue: its series include the pending values.
//
// docs/reference/metrics.md in the repository describes each series and the
// cost of a scrape, and docs/reference/operations.md says what to do about it.
// There are a dashboard in docs/grafana and alert rules in docs/alerts.
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
// The buckets are exact, with two exceptions. A duration of exactly 10 µs or
// 100 µs counts as within these bounds, which are slightly less in Kubernetes.
// In the native histograms, a duration of zero may count as a nanosecond, and
// all durations beyond 2²⁰ s, twelve days, are in the bucket that begins there.
package shardqprom
