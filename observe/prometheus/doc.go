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
// For a [coalesce.Coalescer], add its Coalescer.Queue.
// docs/reference/metrics.md in the repository describes each series, and the
// cost of a scrape.
// To share the registry of controller-runtime, which has the seven names, set
// the style and Unchecked:
//
//	options := shardqprom.Options{Style: shardqprom.ControllerRuntime, Unchecked: true}
package shardqprom
