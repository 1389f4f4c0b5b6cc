// Package shardqotel exports queues of shardq to OpenTelemetry, as observable
// instruments and a producer of exponential histograms.
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
// # Metrics
//
// The namespace workqueue has the seven metrics of client-go's workqueue. The
// namespace shardq has all others. For a [coalesce.Coalescer], add its
// Coalescer.Queue: its metrics include the pending values. Names and units
// follow the semantic conventions: units are not part of names, durations are
// in s, and counts have an annotation such as {item}. The attribute
// workqueue.name is the name under which a queue was added.
// docs/reference/metrics.md in the repository describes each metric by its
// Prometheus name. A test keeps the two in agreement.
//
// One callback observes counters and gauges, and reads each queue once. A queue
// counts its durations itself, so that histograms cannot be instruments. The
// Observer produces them: pass it to the reader as a producer, or there are no
// histograms. They are exponential histograms of scale 3, as exact as
// [shardq.Options].Metrics describes, with two exceptions. A duration of zero
// may count as a nanosecond. All durations beyond 2²⁰ s, twelve days, are in
// the bucket that begins there.
//
// The temporality of histograms is cumulative, because the reader's selector
// does not apply to a producer. Their start time is the time when the queue was
// created.
//
// # Names
//
// A queue is exported under its name. Two queues of an Observer cannot have the
// same name or none: [Observer.Add] returns an error then. [Observer.AddAs]
// adds a queue under another name. A queue that is shut down and empty
// disappears by itself, and its name is free.
//
// A new queue that reuses a name continues the series of the old one. Its
// counters begin at 0, so the series goes back. Instruments cannot set a start
// time, and their data points keep the one of the SDK. A receiver must treat
// the decrease as a restart, as Prometheus does. A reader of delta temporality
// gets one negative delta, unless it has collected between the two queues.
// Histograms begin when the new queue was created. If a receiver cannot handle
// a decrease, export the new queue under another name.
//
// # Groups
//
// A group named "other" is added up with those that have no points of their
// own. Names are cut after 128 bytes, at a whole character, and invalid UTF-8
// is replaced with U+FFFD. Groups whose names are equal after that are added
// up.
package shardqotel
