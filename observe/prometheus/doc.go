// Package shardqprom shows queues of shardq to Prometheus: a [Collector] for any registry of
// client_golang.
//
//	queue := shardq.Must(shardq.Options[string]{Name: "invoices", Metrics: true})
//	collector, err := shardqprom.NewCollector(shardqprom.Options{}, queue)
//	if err != nil {
//		log.Fatal(err) // a queue without metrics, or two of one name
//	}
//	prometheus.MustRegister(collector)
//
// # What there is
//
// The seven series of client-go's workqueue, workqueue_depth and the like, with the names, labels,
// texts and meanings that they have in Kubernetes or, if [Options].Style says so, in
// controller-runtime. So the dashboards and alerts that there are for those work for these. Where
// the two differ in the buckets of the histograms, they are controller-runtime's, 10 ns to 1000 s;
// and there are native histograms beside them.
//
// What client-go does not count has names that begin with shardq_: what waits for delays, merged
// adds, true retries, give-ups, ages, capacity, consumers, shards, if [Options].Groups says so,
// groups, and of a [shardq.Coalescer], whose Coalescer.Queue is to be added, what it has pending.
// docs/reference/metrics.md of the repository says what each means, and docs/reference/operations.md what to do when it
// rises. There are a dashboard in docs/grafana and alert rules in docs/alerts.
//
// # Names
//
// A queue is shown under its name, so two of a Collector cannot have the same, nor none at all:
// that is an error at [Collector.Add], and never one at a scrape. [Collector.AddAs] shows a queue
// under another name. A queue that is shut down and empty disappears by itself, and its name is
// free.
//
// # Beside controller-runtime
//
// controller-runtime registers the seven names in its own registry for the queues that it makes
// itself. For queues of shardq in the same registry, Unchecked is needed, and the style that is
// there:
//
//	options := shardqprom.Options{Style: shardqprom.ControllerRuntime, Unchecked: true}
//	collector, err := shardqprom.NewCollector(options)
//	…
//	metrics.Registry.MustRegister(collector)
//
// # How exact it is
//
// Counters and gauges are those of one reading of [shardq.Stats]. Durations are as exact as
// [shardq.Options].Metrics says. The histograms' buckets hold exactly what was measured, with two
// exceptions. A duration of exactly 10 µs or 100 µs counts as within these bounds, which Kubernetes
// has as 9.999999999999999e-06 and 9.999999999999999e-05, so that there it is just above. And in
// the native histograms, what took no time at all may count as a nanosecond, and all that took
// longer than 2²⁰ s, twelve days, is in the bucket that begins there. The moments at which counters began are
// not told.
//
// # Cost
//
// Between scrapes, none but that of [shardq.Options].Metrics. A scrape reads each queue once, which
// locks its shards one after the other: a tenth of a millisecond for a queue, with encoding.
// BenchmarkScrape measures it.
package shardqprom
