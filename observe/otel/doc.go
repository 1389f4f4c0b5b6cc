// Package shardqotel exports queues of shardq to OpenTelemetry: metrics, as
// observable instruments and a producer of exponential histograms, and traces.
//
//	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
//	observer, err := shardqotel.NewObserver(shardqotel.Options{}, queue)
//	if err != nil {
//		log.Fatal(err) // a queue without metrics, or two of one name
//	}
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(observer))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//	registration, err := observer.Register(provider)
//
// docs/reference/metrics.md describes each metric. The attribute workqueue.name
// is the name under which a queue was added: its own, or that of
// [Observer.AddAs]. For a [coalesce.Coalescer], add its Coalescer.Queue.
//
// A queue that reuses the name of a closed one continues its series: counters
// begin at 0, which a receiver must treat as a restart. So does a group that is
// among the largest again: use cumulative temporality.
//
// A [Tracer] makes a span for each attempt of a handler, linked to the spans in
// whose contexts the item was added. [NewLogHandler] writes the IDs of trace and
// span into the lines of a log.
package shardqotel
